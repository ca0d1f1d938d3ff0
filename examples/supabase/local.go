package main

import (
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"
)

// The SQL for the contents of a new project: the roles of its server, and its database.
var (
	//go:embed roles.sql
	rolesSQL string
	//go:embed project.sql
	projectSQL string
)

// localProject creates a database like that of a project, and sets the environment variables of a
// project. The database is on the server of DATABASE_URL, or else on the server that
// scripts/postgres starts. The function remove drops it.
func localProject(ctx context.Context) (remove func(), err error) {
	server := os.Getenv("DATABASE_URL")
	if server == "" {
		if server, err = startServer(ctx); err != nil {
			return nil, err
		}
	}
	address, err := url.Parse(server)
	if err != nil {
		return nil, errors.New("DATABASE_URL is no URL")
	}
	name := "weft_example_" + strings.ToLower(rand.Text()[:12])
	if err := errors.Join(execute(ctx, server, rolesSQL), execute(ctx, server, "CREATE DATABASE "+name)); err != nil {
		return nil, err
	}
	remove = func() {
		if err := execute(ctx, server, "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			fmt.Fprintln(os.Stderr, "supabase: drop the local database:", err)
		}
	}
	address.Path = "/" + name
	for variable, value := range map[string]string{
		"SUPABASE_DB_URL":     address.String(),
		"SUPABASE_URL":        "http://127.0.0.1:54321",
		"SUPABASE_JWT_SECRET": rand.Text() + rand.Text(),
	} {
		err = errors.Join(err, os.Setenv(variable, value))
	}
	if err = errors.Join(err, execute(ctx, address.String(), projectSQL)); err != nil {
		remove()
		return nil, err
	}
	return remove, nil
}

// startServer runs scripts/postgres of the repository around the working folder, and returns the
// address of the server.
func startServer(ctx context.Context) (string, error) {
	folder, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; folder = filepath.Dir(folder) {
		script := filepath.Join(folder, "scripts", "postgres")
		if _, err := os.Stat(script); err == nil {
			cmd := exec.CommandContext(ctx, "bash", script)
			cmd.Stderr = os.Stderr
			out, err := cmd.Output()
			return strings.TrimSpace(string(out)), err
		}
		if folder == filepath.Dir(folder) {
			return "", errors.New("neither SUPABASE_DB_URL nor DATABASE_URL is set, and there is no scripts/postgres here")
		}
	}
}

func execute(ctx context.Context, address, sql string) (err error) {
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	_, err = conn.Exec(ctx, sql, pgx.QueryExecModeSimpleProtocol)
	return err
}
