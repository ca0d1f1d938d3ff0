package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// A source is one version of a package of Debian 12.
type source struct{ name, pool, sum string }

var (
	foldoc    = source{"dict-foldoc_20230119-1_all.deb", "d/dict-foldoc", "745cbedb55c2da609cc88ee0284e9d11a67a11ae3709daf7bad0e895ac3294c3"}
	fortunes  = source{"fortunes_1.99.1-7.3_all.deb", "f/fortune-mod", "41d0551dc0ff52f875a2ecef7c39da2f672ab468c37e170119f7e0245a9d63c5"}
	manpages  = source{"manpages-dev_6.03-2_all.deb", "m/manpages", "96f55cb5e26231d5567c89b692bced63825a14a2d5bd18fdf16ea2ed44eb9838"}
	glosses   = source{"dict-wn_3.0-37_all.deb", "w/wordnet", "ed99e0bf162815dc1cc69de3727eedd7112ddf170badf83dbde26209e0724a8c"}
	wordnet   = source{"wordnet-base_3.0-37_all.deb", "w/wordnet", "61060d960f9ada8fa120872312eccd3ecebfbab8c4579e4f5a74e1cf67620752"}
	websters  = source{"dict-gcide_0.48.5+nmu2_all.deb", "d/dict-gcide", "7b0af5cfde3cbdef5e9d6e78f92ec335ced7c2790f37a40f49bebc6f7347ac0f"}
	postgres  = source{"postgresql-doc-15_15.18-0+deb12u1_all.deb", "p/postgresql-15", "3c598277a463c44d672daa2c335deb8d8252e1852fb025fd4578ea2d9a1b90f0"}
	archives  = []string{"https://deb.debian.org/debian", "https://snapshot.debian.org/archive/debian/20260601T000000Z"}
	errStatus = errors.New("unexpected status")
	errSum    = errors.New("wrong checksum")
	errFormat = errors.New("not a Debian package")
)

// read returns the files of a package whose path matches a pattern, by path. Compressed
// files are unpacked.
func (s source) read(ctx context.Context, dir, pattern string) (files map[string][]byte, err error) {
	data, err := s.get(ctx, dir)
	if err == nil {
		files, err = unpack(ctx, data, pattern)
	}
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("no file matches %s: %w", pattern, errFormat)
	}
	if err != nil {
		return nil, fmt.Errorf("package %s: %w", s.name, err)
	}
	return files, nil
}

// get returns the package from the cache, or downloads it.
func (s source) get(ctx context.Context, dir string) ([]byte, error) {
	file := filepath.Join(dir, s.name)
	if data, err := os.ReadFile(file); err == nil && s.check(data) == nil {
		return data, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	var failed error
	for _, archive := range archives {
		data, err := download(ctx, archive+"/pool/main/"+s.pool+"/"+s.name)
		if err == nil {
			err = s.check(data)
		}
		if err == nil {
			return data, writeFile(file, data)
		}
		failed = errors.Join(failed, err)
	}
	return nil, failed
}

func (s source) check(data []byte) error {
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != s.sum {
		return fmt.Errorf("%d bytes: %w", len(data), errSum)
	}
	return nil
}

func download(ctx context.Context, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }() // An error of Close does not matter.
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s: %w", url, response.Status, errStatus)
	}
	return io.ReadAll(io.LimitReader(response.Body, 64<<20))
}

// writeFile writes a file so that a concurrent reader sees all of it or nothing.
func writeFile(file string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(file), "part-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// unpack returns the files of a package, which is an ar archive with a compressed tar
// archive. It runs the program xz, since the standard library cannot read its format.
func unpack(ctx context.Context, deb []byte, pattern string) (map[string][]byte, error) {
	data, err := member(deb, "data.tar.xz")
	if err != nil {
		return nil, err
	}
	xz := exec.CommandContext(ctx, "xz", "-dc")
	xz.Stdin = bytes.NewReader(data)
	plain, err := xz.Output()
	if err != nil {
		return nil, fmt.Errorf("xz: %w", err)
	}
	files := map[string][]byte{}
	for r := tar.NewReader(bytes.NewReader(plain)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		name := strings.TrimPrefix(path.Clean(h.Name), "/")
		if ok, err := path.Match(pattern, name); err != nil || !ok || h.Typeflag != tar.TypeReg {
			continue
		}
		if files[name], err = plainFile(name, r); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
}

// plainFile reads a file of an archive, and unpacks it if it is compressed.
func plainFile(name string, r io.Reader) ([]byte, error) {
	if e := path.Ext(name); e != ".gz" && e != ".dz" {
		return io.ReadAll(r)
	}
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

// member returns a file of an ar archive.
func member(ar []byte, name string) ([]byte, error) {
	const magic, header = "!<arch>\n", 60
	if !bytes.HasPrefix(ar, []byte(magic)) {
		return nil, errFormat
	}
	for ar = ar[len(magic):]; len(ar) >= header; {
		size, err := strconv.Atoi(strings.TrimSpace(string(ar[48:58])))
		if err != nil || size < 0 || header+size > len(ar) {
			return nil, errFormat
		}
		if strings.TrimRight(string(ar[:16]), " /") == name {
			return ar[header : header+size], nil
		}
		ar = ar[min(len(ar), header+size+size%2):]
	}
	return nil, fmt.Errorf("no %s: %w", name, errFormat)
}
