package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

func file(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash(name))
	require.NoError(t, err)
	return string(text)
}

// documents parses a YAML file.
func documents(t *testing.T, name string) (all []map[string]any) {
	t.Helper()
	d := yaml.NewDecoder(bytes.NewBufferString(file(t, name)))
	for {
		var v map[string]any
		err := d.Decode(&v)
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err, name)
		all = append(all, v)
	}
}

func TestConfigurationsAreYAML(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.yaml")
	require.NoError(t, err)
	require.Len(t, files, 3)
	for _, name := range files {
		assert.NotEmpty(t, documents(t, name), name)
	}
}

// The rules of examples/observability/alerts.yaml are about the job that prometheus.yaml scrapes.
func TestTheAlertsAreAboutTheScrapedJob(t *testing.T) {
	t.Parallel()
	job := documents(t, "prometheus.yaml")[0]["scrape_configs"].([]any)[0].(map[string]any)["job_name"].(string)
	assert.Contains(t, file(t, "../observability/alerts.yaml"), `job="`+job+`"`)
}

var (
	defined   = regexp.MustCompile(`flag\.\w+\("(\w+)"`)
	used      = regexp.MustCompile(`["\s]-([a-z]+)\b`)
	arguments = regexp.MustCompile(`(?m)^ *(?:ENTRYPOINT|ExecStart=|command:|args:).*$`)
)

// The files start the program with flags that main.go defines. `make deployment` has further
// checks.
func TestTheFilesStartTheProgramWithItsFlags(t *testing.T) {
	t.Parallel()
	var flags []string
	for _, m := range defined.FindAllStringSubmatch(file(t, "main.go"), -1) {
		flags = append(flags, m[1])
	}
	require.NotEmpty(t, flags)
	for _, name := range []string{"Dockerfile", "serving.service", "kubernetes.yaml", "compose.yaml"} {
		line := arguments.FindString(file(t, name))
		found := used.FindAllStringSubmatch(line, -1)
		require.NotEmpty(t, found, name)
		for _, m := range found {
			assert.Contains(t, flags, m[1], "%s: %s", name, line)
		}
	}
}

// No test builds the image. The Dockerfile has valid instructions, the Go version of go.mod, and
// only paths that the repository has.
func TestTheDockerfileBuildsThisProgram(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	goMod := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(file(t, "../../go.mod"))
	text := file(t, "Dockerfile")
	assert.Contains(t, text, "FROM golang:"+goMod[1]+" AS build\n")
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		assert.Contains(t, []string{"FROM", "WORKDIR", "COPY", "RUN", "ENV", "EXPOSE", "ENTRYPOINT"}, words[0])
		if words[0] == "COPY" && !strings.HasPrefix(words[1], "--from") {
			for _, name := range words[1 : len(words)-1] {
				_, err := os.Stat(filepath.Join(root, name))
				assert.NoError(t, err, line)
			}
		}
	}
	assert.DirExists(t, filepath.Join(root, regexp.MustCompile(`(?m)^RUN .* go build .* (\./\S+)$`).FindStringSubmatch(text)[1]))
}
