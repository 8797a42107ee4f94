// Command kubeadm is the kubeadm of Kubernetes as it is published; its version is that of its linker flags.
//
// Under the name `container-runtime` it is the stand-in of a container runtime, which kubeadm asks for images.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/kubernetes/cmd/kubeadm/app"
	utilerrors "k8s.io/kubernetes/cmd/kubeadm/app/util/errors"
)

func main() {
	if filepath.Base(os.Args[0]) != "container-runtime" {
		utilerrors.HandleError(app.Run())
		return
	}
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: container-runtime SOCKET FOLDER")
		os.Exit(2)
	}
	if err := serve(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "container-runtime:", err)
		os.Exit(1)
	}
}
