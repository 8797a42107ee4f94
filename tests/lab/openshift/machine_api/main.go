// Command machine-api is the controllers of machine-api-operator, with a folder of the lab for a cloud.
//
// The controllers of machine sets, of machines with their drains, and of the links to Kubernetes nodes are those of
// OpenShift. A cloud is a part of every provider; here a machine is a file, which the lab makes a Kubernetes node of.
package main

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"

	"github.com/openshift/api/features"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	"github.com/openshift/machine-api-operator/pkg/controller"
	"github.com/openshift/machine-api-operator/pkg/controller/machine"
	"github.com/openshift/machine-api-operator/pkg/controller/machineset"
	"github.com/openshift/machine-api-operator/pkg/controller/nodelink"
	"k8s.io/component-base/featuregate"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/manager/signals"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// folder is a cloud: each machine is a file with its provider configuration. It is there as long as the file is.
type folder struct {
	client client.Client
	path   string
}

func (f *folder) file(m *machinev1.Machine) string {
	return filepath.Join(f.path, m.Name)
}

func (f *folder) Create(ctx context.Context, m *machinev1.Machine) error {
	before := m.DeepCopy()
	provider := "lab:///" + m.Name
	m.Spec.ProviderID = &provider
	if err := f.client.Patch(ctx, m, client.MergeFrom(before)); err != nil {
		return err
	}
	// The file is whole as soon as it has its name.
	part := filepath.Join(f.path, "."+m.Name)
	if err := os.WriteFile(part, m.Spec.ProviderSpec.Value.Raw, 0o644); err != nil {
		return err
	}
	return os.Rename(part, f.file(m))
}

func (f *folder) Delete(_ context.Context, m *machinev1.Machine) error {
	if err := os.Remove(f.file(m)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

func (f *folder) Update(context.Context, *machinev1.Machine) error {
	return nil
}

func (f *folder) Exists(_ context.Context, m *machinev1.Machine) (bool, error) {
	_, err := os.Stat(f.file(m))
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

func main() {
	klog.InitFlags(nil)
	cloud := flag.String("cloud", "", "the folder that stands for the cloud")
	flag.Parse()
	ctrl.SetLogger(klog.NewKlogr())
	if err := run(*cloud); err != nil {
		klog.Fatal(err)
	}
}

// run keeps the controllers at work until the process is told to end.
func run(cloud string) error {
	found, err := config.GetConfig()
	if err != nil {
		return err
	}
	options := manager.Options{Metrics: server.Options{BindAddress: "0"}, HealthProbeBindAddress: "0"}
	made, err := manager.New(found, options)
	if err != nil {
		return err
	}
	if err := machinev1.Install(made.GetScheme()); err != nil {
		return err
	}
	gates := featuregate.NewFeatureGate()
	migration := featuregate.Feature(features.FeatureGateMachineAPIMigration)
	if err := gates.Add(map[featuregate.Feature]featuregate.FeatureSpec{migration: {Default: false}}); err != nil {
		return err
	}
	if err := controller.AddToManagerWithFeatureGates(made, options, gates, machineset.Add); err != nil {
		return err
	}
	if err := machine.AddWithActuator(made, &folder{made.GetClient(), cloud}, gates); err != nil {
		return err
	}
	if err := controller.AddToManager(made, options, nodelink.Add); err != nil {
		return err
	}
	return made.Start(signals.SetupSignalHandler())
}
