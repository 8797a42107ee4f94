// Command version-operator is the cluster-version-operator of OpenShift, and a hand that signs releases for it.
//
// The operator takes no release that nobody has signed. In the lab the releases are made up, so that their key is, too.
package main

import (
	"bytes"
	"context"
	"crypto"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"

	_ "github.com/openshift/cluster-version-operator/pkg/clusterconditions/always"
	_ "github.com/openshift/cluster-version-operator/pkg/clusterconditions/promql"
	"github.com/openshift/cluster-version-operator/pkg/start"
	"golang.org/x/crypto/openpgp"
	"golang.org/x/crypto/openpgp/armor"
	"golang.org/x/crypto/openpgp/packet"
	"k8s.io/klog/v2"
)

// signed is what `sign` says: a new public key, and the signature of each digest by it.
type signed struct {
	Key        string            `json:"key"`
	Signatures map[string][]byte `json:"signatures"`
}

func main() {
	var err error
	switch {
	case len(os.Args) > 1 && os.Args[1] == "start":
		err = operate(os.Args[2:])
	case len(os.Args) > 1 && os.Args[1] == "sign":
		err = sign(os.Args[2:])
	default:
		err = fmt.Errorf("usage: version-operator start [flags] | version-operator sign DIGEST...")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "version-operator:", err)
		os.Exit(1)
	}
}

// operate runs the operator until it is told to end. NODE_NAME and PAYLOAD_OVERRIDE are read as ever.
func operate(arguments []string) error {
	options := start.NewOptions()
	options.ListenAddr = ""
	flags := flag.NewFlagSet("start", flag.ExitOnError)
	klog.InitFlags(flags)
	flags.StringVar(&options.Kubeconfig, "kubeconfig", "", "the kubeconfig of the cluster")
	flags.StringVar(&options.ReleaseImage, "release-image", "", "the image of the release that it runs in")
	flags.DurationVar(&options.ResyncInterval, "resync", options.ResyncInterval, "the least time between two looks")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	return options.Run(context.Background())
}

// sign makes a key, and signatures as container images have them (containers/image, docs/atomic-signature.md).
func sign(digests []string) error {
	settings := &packet.Config{DefaultHash: crypto.SHA256, RSABits: 2048}
	signer, err := openpgp.NewEntity("the lab", "", "lab@openshift.test", settings)
	if err != nil {
		return err
	}
	for _, identity := range signer.Identities {
		if err := identity.SelfSignature.SignUserId(identity.UserId.Id, signer.PrimaryKey, signer.PrivateKey, settings); err != nil {
			return err
		}
	}
	var public bytes.Buffer
	armored, err := armor.Encode(&public, openpgp.PublicKeyType, nil)
	if err != nil {
		return err
	}
	if err := signer.Serialize(armored); err != nil {
		return err
	}
	if err := armored.Close(); err != nil {
		return err
	}
	said := signed{Key: public.String(), Signatures: map[string][]byte{}}
	for _, digest := range digests {
		signature, err := signatureOf(digest, signer, settings)
		if err != nil {
			return err
		}
		said.Signatures[digest] = signature
	}
	return json.NewEncoder(os.Stdout).Encode(said)
}

func signatureOf(digest string, signer *openpgp.Entity, settings *packet.Config) ([]byte, error) {
	claim := map[string]any{
		"critical": map[string]any{
			"type":     "atomic container signature",
			"image":    map[string]string{"docker-manifest-digest": digest},
			"identity": map[string]string{"docker-reference": "registry.openshift.test/ocp/release"},
		},
		"optional": map[string]any{"creator": "the lab", "timestamp": time.Now().Unix()},
	}
	content, err := json.Marshal(claim)
	if err != nil {
		return nil, err
	}
	var whole bytes.Buffer
	message, err := openpgp.Sign(&whole, signer, nil, settings)
	if err != nil {
		return nil, err
	}
	if _, err := message.Write(content); err != nil {
		return nil, err
	}
	if err := message.Close(); err != nil {
		return nil, err
	}
	return whole.Bytes(), nil
}
