package recall

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestMember(t *testing.T) {
	t.Parallel()
	file := func(name, data string) string {
		pad := strings.Repeat("\n", len(data)%2)
		return fmt.Sprintf("%-16s%-12d%-6d%-6d%-8o%-10d`\n%s%s", name, 0, 0, 0, 0o644, len(data), data, pad)
	}
	ar := "!<arch>\n" + file("debian-binary", "2.0\n") + file("control.tar.xz", "odd") + file("data.tar.xz", "what it has")
	if got, err := member([]byte(ar), "data.tar.xz"); err != nil || string(got) != "what it has" {
		t.Errorf("got %q, %v", got, err)
	}
	for _, bad := range []string{"", "!<arch>", ar[:20], ar[:len(ar)-5], strings.Replace(ar, "11 ", "x1 ", 1), "!<arch>\n" + file("other", "x")} {
		if got, err := member([]byte(bad), "data.tar.xz"); !errors.Is(err, errFormat) {
			t.Errorf("%q: got %q, %v", bad, got, err)
		}
	}
}

func TestGet_cached(t *testing.T) {
	t.Parallel()
	dir, data := t.TempDir(), []byte("a package")
	sum := sha256.Sum256(data)
	s := source{name: "a.deb", sum: hex.EncodeToString(sum[:])}
	if err := store(filepath.Join(dir, s.name), data); err != nil {
		t.Fatal(err)
	}
	if got, err := s.get(t.Context(), dir); err != nil || string(got) != string(data) {
		t.Errorf("got %q, %v", got, err)
	}
	if err := s.check([]byte("another")); !errors.Is(err, errSum) {
		t.Errorf("got %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("got %v, %v", left, err)
	}
}

func TestEntries(t *testing.T) {
	t.Parallel()
	got := entries([]byte("00-info\n\n   Nothing.\n\ntea\n\n   A {drink}.\n\n   It is hot.\ncup\n   What it is in.\n"), func(s string) string { return s })
	want := []entry{{"tea", "A {drink}.\n\nIt is hot."}, {"cup", "What it is in."}}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestSentences(t *testing.T) {
	t.Parallel()
	got := sentences([]string{"Heading\n\nTea is a drink that is\nmade of leaves. It is drunk by most of the people. Short.\n\nx = f(1, 2) + g[3] * 4 - 5 / 6 == 7"})
	want := []string{"Tea is a drink that is made of leaves.", "It is drunk by most of the people."}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestParsePage(t *testing.T) {
	t.Parallel()
	got, err := parsePage("a.html", []byte(`<html><head><title>no</title></head><body><div class="navheader">no<hr /></div>
		<h2 class="title">5.4. Green&nbsp;Tea</h2><div class="toc"><p>what is not read here at all</p></div>
		<p>The first paragraph of it
		has two lines.</p><div class="note"><h3 class="title">Note</h3><p>A note that belongs to it.</p></div>
		<h3>5.4.1. Cups</h3><ul><li>The paragraph of the cups.</li></ul></body></html>`))
	if err != nil || len(got) != 2 || got[0].title != "Green Tea" || got[1].title != "Cups" || len(got[0].paragraphs) != 2 ||
		got[0].paragraphs[0] != "The first paragraph of it has two lines." || len(got[1].paragraphs) != 1 {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestParseSynset(t *testing.T) {
	t.Parallel()
	s, ok := parseSynset(`07929519 13 n 03 coffee 0 java 0 Black_coffee 1 002 @ 07881800 n 0000 | a drink of beans; "he ordered a cup"`)
	if !ok || s.kind != "n13" || !slices.Equal(s.words, []string{"coffee", "java"}) || s.gloss != "a drink of beans" {
		t.Errorf("got %+v, %v", s, ok)
	}
	for _, bad := range []string{"", "  1 This is the licence | x", "07929519 13 n zz coffee 0 | x", "07929519 13 n 09 coffee 0 | x"} {
		if s, ok := parseSynset(bad); ok {
			t.Errorf("%q: got %+v", bad, s)
		}
	}
}

func TestWithout(t *testing.T) {
	t.Parallel()
	if got := without("To study, or what students and monks study;\nstudying", "studies"); strings.TrimSpace(got) != "To or what and monks" {
		t.Errorf("got %q", got)
	}
}
