package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
)

func main() {
	only := flag.String("run", "", "run only the projects whose name matches this `regexp`")
	store := flag.String("store", "memory", "keep threads and runs in memory, sqlite or postgres; DATABASE_URL names the PostgreSQL")
	address := flag.String("serve", "", "only serve the graphs at this `address`, such as 127.0.0.1:8123")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	if *address != "" {
		err = serve(ctx, *store, *address)
	} else {
		err = run(ctx, *only, *store)
	}
	switch {
	case errors.Is(err, errFailed):
		os.Exit(1)
	case err != nil:
		fmt.Fprintln(os.Stderr, "clients:", err)
		os.Exit(2)
	}
}

// errFailed means that a test of a client has failed.
var errFailed = errors.New("a test failed")

// serve serves the graphs until ctx ends.
func serve(ctx context.Context, store, address string) error {
	s, err := startServer(ctx, store, address)
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, s.url)
	<-ctx.Done()
	return s.close()
}

// run installs the projects, runs their tests and prints the table.
func run(ctx context.Context, only, store string) error {
	match, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	var chosen []project
	for _, p := range projects {
		if match.MatchString(p.name) {
			chosen = append(chosen, p)
		}
	}
	if len(chosen) == 0 {
		return fmt.Errorf("no project matches %q", only)
	}
	if err := findPrograms(chosen); err != nil {
		return err
	}
	home, err := cacheFolder()
	if err != nil {
		return err
	}
	for _, p := range chosen {
		if err := p.install(ctx, home); err != nil {
			return fmt.Errorf("install the packages of %s: %w", p.name, err)
		}
	}
	s, err := startServer(ctx, store, "127.0.0.1:0")
	if err != nil {
		return err
	}
	all, err := testAll(ctx, chosen, home, s.url)
	if err = errors.Join(err, s.close()); err != nil {
		return err
	}
	return report(os.Stdout, store, all)
}

// testAll runs the tests of the projects against the server at url, a second server and the examples.
func testAll(ctx context.Context, chosen []project, home, url string) (all []result, err error) {
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	spare, err := startServer(ctx, "memory", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, spare.close()) }()
	env := []string{"BASE_URL=" + url, "SPARE_URL=" + spare.url, "ROOT=" + root}
	for _, name := range []string{"serving", "pages"} {
		s, failed := startExample(ctx, name)
		if failed != nil {
			return nil, failed
		}
		defer func() { err = errors.Join(err, s.close()) }()
		env = append(env, strings.ToUpper(name)+"_URL="+s.url)
	}
	for _, p := range chosen {
		fmt.Fprintf(os.Stderr, "clients: %s\n", p.name)
		r, err := p.test(ctx, home, env)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
		all = append(all, r)
	}
	return all, nil
}
