package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
)

// machine describes where and how the figures were measured.
func machine(s settings) string {
	return fmt.Sprintf("%s, GOMAXPROCS %d, %s %s/%s, eino %s, medians of %d rounds",
		processor("/proc/cpuinfo"), runtime.GOMAXPROCS(0), runtime.Version(), runtime.GOOS, runtime.GOARCH,
		moduleVersion("github.com/cloudwego/eino"), s.rounds)
}

// processor reads the model of the processor, where the system tells it.
func processor(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return "unknown processor"
	}
	defer func() { _ = f.Close() }() // It was only read.
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if key, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown processor"
}

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
