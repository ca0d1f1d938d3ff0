package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMemberReadsAnArArchive(t *testing.T) {
	t.Parallel()
	file := func(name, data string) string {
		pad := strings.Repeat("\n", len(data)%2)
		return fmt.Sprintf("%-16s%-12d%-6d%-6d%-8o%-10d`\n%s%s", name, 0, 0, 0, 0o644, len(data), data, pad)
	}
	ar := "!<arch>\n" + file("debian-binary", "2.0\n") + file("control.tar.xz", "odd") + file("data.tar.xz", "eleven byte")
	got, err := member([]byte(ar), "data.tar.xz")
	require.NoError(t, err)
	assert.Equal(t, "eleven byte", string(got))
	for _, bad := range []string{"", "!<arch>", ar[:20], ar[:len(ar)-5], strings.Replace(ar, "11 ", "x1 ", 1), "!<arch>\n" + file("other", "x")} {
		_, err := member([]byte(bad), "data.tar.xz")
		require.ErrorIs(t, err, errFormat, "%q", bad)
	}
}

func TestGetTakesAPackageFromTheCache(t *testing.T) {
	t.Parallel()
	dir, data := t.TempDir(), []byte("a package")
	sum := sha256.Sum256(data)
	s := source{name: "a.deb", sum: hex.EncodeToString(sum[:])}
	require.NoError(t, writeFile(filepath.Join(dir, s.name), data))
	got, err := s.get(t.Context(), dir)
	require.NoError(t, err)
	assert.Equal(t, data, got)
	require.ErrorIs(t, s.check([]byte("another")), errSum)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, left, 1, "a temporary file is left")
}

func TestEntries(t *testing.T) {
	t.Parallel()
	got := entries([]byte("00-info\n\n   Nothing.\n\ntea\n\n   A {drink}.\n\n   It is hot.\ncup\n   A vessel.\n"), func(s string) string { return s })
	assert.Equal(t, []entry{{"tea", "A {drink}.\n\nIt is hot."}, {"cup", "A vessel."}}, got)
}

func TestSentencesAreProse(t *testing.T) {
	t.Parallel()
	got := sentences([]string{"Heading\n\nTea is a drink that is\nmade of leaves. It is drunk by most of the people. Short.\n\nx = f(1, 2) + g[3] * 4 - 5 / 6 == 7"})
	assert.Equal(t, []string{"Tea is a drink that is made of leaves.", "It is drunk by most of the people."}, got)
}

func TestParsePage(t *testing.T) {
	t.Parallel()
	got, err := parsePage("a.html", []byte(`<html><head><title>no</title></head><body><div class="navheader">no<hr /></div>
		<h2 class="title">5.4. Green&nbsp;Tea</h2><div class="toc"><p>a table of contents, which is left out</p></div>
		<p>The first paragraph of it
		has two lines.</p><div class="note"><h3 class="title">Note</h3><p>A note that belongs to it.</p></div>
		<h3>5.4.1. Cups</h3><ul><li>The paragraph of the cups.</li></ul></body></html>`))
	require.NoError(t, err)
	assert.Equal(t, []section{
		{"a.html", "Green Tea", []string{"The first paragraph of it has two lines.", "A note that belongs to it."}},
		{"a.html", "Cups", []string{"The paragraph of the cups."}},
	}, got)
}

func TestParseSynset(t *testing.T) {
	t.Parallel()
	s, ok := parseSynset(`07929519 13 n 03 coffee 0 java 0 Black_coffee 1 002 @ 07881800 n 0000 | a drink of beans; "he ordered a cup"`)
	require.True(t, ok)
	assert.Equal(t, synset{"n13", []string{"coffee", "java"}, "a drink of beans"}, s)
	for _, bad := range []string{"", "  1 This is the licence | x", "07929519 13 n zz coffee 0 | x", "07929519 13 n 09 coffee 0 | x"} {
		_, ok := parseSynset(bad)
		assert.False(t, ok, "%q", bad)
	}
}

func TestTerms(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []string{"stud", "sofa", "50mg", "cup"}, terms("What did she study? Sofas, 50mg; CUPS!"))
	assert.Equal(t, "To or what and monks", without("To study, or what students and monks study;\nstudying", "Study"))
}
