package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
)

// machine describes the processor and the versions, for the line above the table.
func machine(s settings) string {
	return fmt.Sprintf("%s, GOMAXPROCS %d, %s %s/%s, eino %s, medians of %d rounds at most",
		processor("/proc/cpuinfo"), runtime.GOMAXPROCS(0), runtime.Version(), runtime.GOOS, runtime.GOARCH,
		moduleVersion("github.com/cloudwego/eino"), s.rounds)
}

// processor reads the model of the processor from a file like /proc/cpuinfo.
func processor(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return "unknown processor"
	}
	defer func() { _ = f.Close() }() // The file was only read.
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if key, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown processor"
}

// moduleVersion returns the version of a module that this program is built with.
func moduleVersion(path string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, m := range info.Deps {
		if m.Path == path {
			return m.Version
		}
	}
	return "unknown"
}
