package ics_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/examples/calendar/internal/ics"
)

// rfcCase is a calendar, with the events that another library finds in it (testdata/rfc5545/answers.py).
type rfcCase struct {
	Name  string   `json:"name"`
	Zone  string   `json:"zone"`
	From  string   `json:"from"`
	Days  int      `json:"days"`
	Text  string   `json:"text"`
	Found []string `json:"found"`
}

// difference has cases in which this package finds other events than the library: the reason, from the text of RFC 5545,
// and the events of this package by the name of the case.
type difference struct {
	Why   string              `json:"why"`
	Cases map[string][]string `json:"cases"`
}

func TestAnswersOfAnotherLibrary(t *testing.T) {
	t.Parallel()
	cases, ours := fixture[[]rfcCase](t, "cases.json"), map[string][]string{}
	require.GreaterOrEqual(t, len(cases), 300)
	for _, d := range fixture[[]difference](t, "differences.json") {
		maps.Copy(ours, d.Cases)
	}
	for _, c := range cases {
		want, differs := ours[c.Name]
		if differs {
			require.NotEqual(t, c.Found, want, "%s is no difference", c.Name)
			delete(ours, c.Name)
		} else {
			want = c.Found
		}
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, want, c.answer(t))
		})
	}
	assert.Empty(t, ours, "differences in cases that are not there")
}

func fixture[T any](t *testing.T, name string) (v T) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata/rfc5545", name))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &v))
	return v
}

// answer returns the events in the form of the recorded answers.
func (c rfcCase) answer(t *testing.T) []string {
	t.Helper()
	zone := mustZone(c.Zone)
	path := filepath.Join(t.TempDir(), "c.ics")
	require.NoError(t, os.WriteFile(path, []byte(calendar(c.Text)), 0o600))
	file, err := ics.Open(path, zone)
	require.NoError(t, err)
	from, err := time.ParseInLocation("20060102", c.From, zone)
	require.NoError(t, err)
	events, err := file.Between(from, from.AddDate(0, 0, c.Days))
	require.NoError(t, err)
	found := []string{}
	for _, e := range events {
		start, end := e.Start.UTC().Format("20060102T150405Z"), e.End.UTC().Format("20060102T150405Z")
		if e.AllDay {
			start, end = e.Start.Format("20060102"), e.End.Format("20060102")
		}
		found = append(found, strings.TrimSpace(start+"/"+end+" "+e.Title))
	}
	slices.Sort(found)
	return found
}
