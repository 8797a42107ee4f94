package main

import (
	"context"
	"net"
	"net/url"
	"os"
	"path/filepath"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtime "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// containerRuntime has images that are empty files in `images`; an image with a file in `missing` cannot be pulled.
type containerRuntime struct {
	runtime.UnimplementedRuntimeServiceServer
	runtime.UnimplementedImageServiceServer
	images, missing string
}

func serve(socket, folder string) error {
	served := &containerRuntime{images: filepath.Join(folder, "images"), missing: filepath.Join(folder, "missing")}
	for _, each := range []string{served.images, served.missing, filepath.Dir(socket)} {
		if err := os.MkdirAll(each, 0o755); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(socket); err != nil {
		return err
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	runtime.RegisterRuntimeServiceServer(server, served)
	runtime.RegisterImageServiceServer(server, served)
	return server.Serve(listener)
}

func (*containerRuntime) Version(context.Context, *runtime.VersionRequest) (*runtime.VersionResponse, error) {
	return &runtime.VersionResponse{
		Version: "0.1.0", RuntimeName: "lab", RuntimeVersion: "2.0.0", RuntimeApiVersion: "v1",
	}, nil
}

func (*containerRuntime) Status(context.Context, *runtime.StatusRequest) (*runtime.StatusResponse, error) {
	ready := []*runtime.RuntimeCondition{{Type: runtime.RuntimeReady, Status: true}, {Type: runtime.NetworkReady, Status: true}}
	return &runtime.StatusResponse{Status: &runtime.RuntimeStatus{Conditions: ready}}, nil
}

func (*containerRuntime) RuntimeConfig(context.Context, *runtime.RuntimeConfigRequest) (*runtime.RuntimeConfigResponse, error) {
	driver := &runtime.LinuxRuntimeConfiguration{CgroupDriver: runtime.CgroupDriver_SYSTEMD}
	return &runtime.RuntimeConfigResponse{Linux: driver}, nil
}

func (served *containerRuntime) ListImages(context.Context, *runtime.ListImagesRequest) (*runtime.ListImagesResponse, error) {
	entries, err := os.ReadDir(served.images)
	if err != nil {
		return nil, err
	}
	found := []*runtime.Image{}
	for _, entry := range entries {
		name, err := url.PathUnescape(entry.Name())
		if err != nil {
			return nil, err
		}
		found = append(found, imageOf(name))
	}
	return &runtime.ListImagesResponse{Images: found}, nil
}

func (served *containerRuntime) ImageStatus(_ context.Context, asked *runtime.ImageStatusRequest) (*runtime.ImageStatusResponse, error) {
	name := asked.GetImage().GetImage()
	if _, err := os.Stat(filepath.Join(served.images, url.PathEscape(name))); err != nil {
		return &runtime.ImageStatusResponse{}, nil
	}
	return &runtime.ImageStatusResponse{Image: imageOf(name)}, nil
}

func (served *containerRuntime) PullImage(_ context.Context, asked *runtime.PullImageRequest) (*runtime.PullImageResponse, error) {
	name := asked.GetImage().GetImage()
	if _, err := os.Stat(filepath.Join(served.missing, url.PathEscape(name))); err == nil {
		return nil, status.Errorf(codes.NotFound, "failed to resolve reference %q: %s: not found", name, name)
	}
	if err := os.WriteFile(filepath.Join(served.images, url.PathEscape(name)), nil, 0o644); err != nil {
		return nil, err
	}
	return &runtime.PullImageResponse{ImageRef: name}, nil
}

func (*containerRuntime) ImageFsInfo(context.Context, *runtime.ImageFsInfoRequest) (*runtime.ImageFsInfoResponse, error) {
	return &runtime.ImageFsInfoResponse{}, nil
}

func imageOf(name string) *runtime.Image {
	return &runtime.Image{Id: name, RepoTags: []string{name}, Size: 1}
}
