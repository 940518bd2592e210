// Image writes a program as an OCI image layout, without a daemon: image OUT.tar PROGRAM OS ARCH.
package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log"
	"os"
	"path/filepath"
)

type object map[string]any

func main() {
	log.SetFlags(0)
	if len(os.Args) != 5 {
		log.Fatal("usage: image OUT.tar PROGRAM OS ARCH")
	}
	out, program, goos, goarch := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	b, err := os.ReadFile(program)
	if err != nil {
		log.Fatal(err)
	}
	name := filepath.Base(program)
	layer := pack(file{"usr/bin/" + name, 0o755, b})
	config := encode(object{
		"os": goos, "architecture": goarch,
		"config": object{"Entrypoint": []string{"/usr/bin/" + name}, "User": "65532"},
		"rootfs": object{"type": "layers", "diff_ids": []string{digest(layer)}},
	})
	manifest := encode(object{
		"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
		"config": descriptor("application/vnd.oci.image.config.v1+json", config),
		"layers": []object{descriptor("application/vnd.oci.image.layer.v1.tar", layer)},
	})
	index := encode(object{"schemaVersion": 2, "manifests": []object{descriptor("application/vnd.oci.image.manifest.v1+json", manifest)}})
	image := pack(
		file{"oci-layout", 0o644, []byte(`{"imageLayoutVersion":"1.0.0"}`)}, file{"index.json", 0o644, index},
		blob(manifest), blob(config), blob(layer),
	)
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(out, image, 0o644); err != nil {
		log.Fatal(err)
	}
	log.Printf("%s: %d bytes, %s", out, len(image), digest(manifest))
}

type file struct {
	name string
	mode int64
	data []byte
}

func blob(b []byte) file { return file{"blobs/sha256/" + digest(b)[len("sha256:"):], 0o644, b} }

func pack(files ...file) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		if err := w.WriteHeader(&tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.data))}); err != nil {
			log.Fatal(err)
		}
		if _, err := w.Write(f.data); err != nil {
			log.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
	return b.Bytes()
}

func descriptor(kind string, b []byte) object {
	return object{"mediaType": kind, "digest": digest(b), "size": len(b)}
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		log.Fatal(err)
	}
	return b
}
