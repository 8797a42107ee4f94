// Command kubernetes is kubeadm and kubectl of Kubernetes as they are published; its version is that of its linker flags.
//
// Its name chooses the program. As `container-runtime` it is the stand-in of one, which kubeadm asks for images.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/component-base/cli"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
	"k8s.io/kubernetes/cmd/kubeadm/app"
	utilerrors "k8s.io/kubernetes/cmd/kubeadm/app/util/errors"
)

func main() {
	switch name := filepath.Base(os.Args[0]); name {
	case "kubeadm":
		utilerrors.HandleError(app.Run())
	case "kubectl":
		if err := cli.RunNoErrOutput(cmd.NewDefaultKubectlCommand()); err != nil {
			util.CheckErr(err)
		}
	case "container-runtime":
		if len(os.Args) != 3 {
			fail("usage: container-runtime SOCKET FOLDER")
		}
		if err := serve(os.Args[1], os.Args[2]); err != nil {
			fail("container-runtime:", err)
		}
	default:
		fail("no program of the name", name)
	}
}

func fail(said ...any) {
	fmt.Fprintln(os.Stderr, said...)
	os.Exit(1)
}
