package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAReportWithColoursIsRead(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "report.xml")
	require.NoError(t, os.WriteFile(file, []byte("<testsuites><testsuite name=\"page\"><testcase name=\"stops\"><failure>\x1b[2mTimeout\x1b[22m</failure>"+
		"</testcase><testcase name=\"streams\"/></testsuite></testsuites>"), 0o600))
	var r result
	require.NoError(t, r.read(file))
	assert.Equal(t, []outcome{{client: "page", name: "stops", failed: true}, {client: "page", name: "streams"}}, r.tests)
	assert.Equal(t, 1, r.failed)
}
