package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/weft-go/weft/examples/csvanalyst/internal/offline"
)

// The commands of the README print the output that the README shows.
func TestReadme(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"sh", "curl"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Fatalf("the README's lines need %s", tool)
		}
	}
	data, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(data), "<!-- tested -->\n```sh\n")
	script, rest, _ := strings.Cut(rest, "```\n")
	_, rest, _ = strings.Cut(rest, "```text\n")
	want, _, found := strings.Cut(rest, "```\n")
	if !found {
		t.Fatal("the README has no lines to test")
	}
	a := start(t, t.TempDir(), offline.Model{})
	cmd := exec.CommandContext(t.Context(), "sh", "-euc", strings.ReplaceAll(script, "127.0.0.1:8082", strings.TrimPrefix(a.url, "http://")))
	cmd.Dir = t.TempDir()
	got, err := cmd.CombinedOutput()
	if err != nil || string(got) != want {
		t.Errorf("%v\ngot\n%s\nwant\n%s", err, got, want)
	}
}
