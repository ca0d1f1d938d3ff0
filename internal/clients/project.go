package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

// files holds the projects, without their installed packages.
//
//go:embed */package.json */package-lock.json */*.mjs docs/*.sh page/*.html page/src python/*.py python/docs python/*.txt python/*.ini
var files embed.FS

// A project is a folder with tests of clients. It is for Node, or for Python.
type project struct {
	name    string
	python  bool
	browser bool
	shell   bool // it runs commands of the documents
}

// projects has a project for each set of packages that can be installed together.
var projects = []project{
	{name: "sdk"},
	{name: "remote"},
	{name: "assistant-ui"},
	{name: "ag-ui"},
	{name: "others"},
	{name: "docs", shell: true},
	{name: "python", python: true},
	{name: "page", browser: true},
}

// browsers lists the possible names of the Chromium program.
var browsers = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"}

func findBrowser() string {
	for _, name := range browsers {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// findPrograms returns an error that names each program that is missing.
func findPrograms(list []project) error {
	get := map[string]string{} // how to install a program, by its name
	for _, p := range list {
		if p.python {
			get["python3"] = "install Python 3.11 or later with venv (apt-get install python3-venv)"
		} else {
			get["node"] = "install Node 20 or later (https://nodejs.org, or apt-get install nodejs npm)"
			get["npm"] = get["node"]
		}
		if p.shell {
			for _, program := range []string{"bash", "curl", "jq"} {
				get[program] = "apt-get install " + program
			}
		}
	}
	var errs []error
	for _, program := range slices.Sorted(maps.Keys(get)) {
		if _, err := exec.LookPath(program); err != nil {
			errs = append(errs, fmt.Errorf("%s is missing: %s", program, get[program]))
		}
	}
	if slices.ContainsFunc(list, func(p project) bool { return p.browser }) && findBrowser() == "" {
		errs = append(errs, fmt.Errorf("chromium is missing: install one of %q (apt-get install chromium)", browsers))
	}
	return errors.Join(errs...)
}

// cacheFolder returns the folder in which packages are installed.
func cacheFolder() (string, error) {
	if dir := os.Getenv("WEFT_CLIENTS"); dir != "" {
		return filepath.Abs(dir)
	}
	cache, err := os.UserCacheDir()
	return filepath.Join(cache, "weft-clients"), err
}

// install copies the project, and installs its packages unless they are already installed from the same lock file.
func (p project) install(ctx context.Context, home string) error {
	dir := filepath.Join(home, p.name)
	sub, err := fs.Sub(files, p.name)
	if err != nil {
		return err
	}
	if err := copyFiles(dir, sub); err != nil {
		return err
	}
	lock := "package-lock.json"
	if p.python {
		lock = "requirements.txt"
	}
	data, err := fs.ReadFile(sub, lock)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	want, mark := hex.EncodeToString(sum[:]), filepath.Join(dir, "installed")
	if got, err := os.ReadFile(mark); err == nil && string(got) == want {
		return nil
	}
	fmt.Fprintf(os.Stderr, "clients: install the packages of %s\n", p.name)
	commands := [][]string{{"npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"}}
	if p.python {
		commands = [][]string{
			{"python3", "-m", "venv", "--clear", "venv"},
			{filepath.Join("venv", "bin", "pip"), "install", "--quiet", "--disable-pip-version-check", "--no-deps", "-r", lock},
		}
	}
	for _, c := range commands {
		if out, err := command(ctx, dir, c...).CombinedOutput(); err != nil {
			return fmt.Errorf("%v: %w\n%s", c, err, out)
		}
	}
	return os.WriteFile(mark, []byte(want), 0o600)
}

// copyFiles writes files to a folder. It replaces those that exist.
func copyFiles(dir string, from fs.FS) error {
	return fs.WalkDir(from, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join(dir, filepath.FromSlash(path))
		if d.IsDir() {
			return os.MkdirAll(to, 0o700)
		}
		data, err := fs.ReadFile(from, path)
		if err != nil {
			return err
		}
		return os.WriteFile(to, data, 0o600)
	})
}

// limit is the time limit for the tests of a project.
const limit = 5 * time.Minute

// test runs the tests of the project.
func (p project) test(ctx context.Context, home string, env []string) (result, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	dir := filepath.Join(home, p.name)
	file := filepath.Join(dir, "report.xml")
	if err := os.RemoveAll(file); err != nil {
		return result{}, err
	}
	args := []string{
		"node", "--test", "--test-reporter=spec", "--test-reporter-destination=stdout",
		"--test-reporter=junit", "--test-reporter-destination=" + file,
	}
	if p.python {
		args = []string{filepath.Join("venv", "bin", "python"), "-m", "pytest", "-q", "--junitxml=" + file}
	}
	cmd := command(ctx, dir, args...)
	cmd.Env = append(append(os.Environ(), "CHROMIUM="+findBrowser(), "NODE_ENV=development"), env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	began := time.Now()
	failed := cmd.Run()
	if ctx.Err() != nil {
		return result{}, fmt.Errorf("the tests did not end: %w\n%s", context.Cause(ctx), &out)
	}
	r := result{project: p.name, took: time.Since(began)}
	err := r.read(file)
	if err != nil || failed != nil {
		fmt.Fprintf(os.Stderr, "%s\n", &out)
	}
	if err == nil && failed != nil && r.failed == 0 {
		err = failed // the tests did not begin
	}
	return r, err
}

// command returns a command. On Unix, the end of ctx also kills the processes that the command has started.
func command(ctx context.Context, dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = dir
	endGroup(cmd)
	return cmd
}
