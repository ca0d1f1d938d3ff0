package terminal

import (
	"os"
	"path/filepath"
	"strings"
)

// command returns the command line that continues the conversation.
func (s *session) command(verb string) string {
	words := []string{s.program.command()}
	if s.db != "quickstart.db" {
		words = append(words, "-db", quote(s.db))
	}
	if s.options.thread != "default" {
		words = append(words, "-thread", quote(s.options.thread))
	}
	if verb != "" {
		words = append(words, verb)
	}
	return strings.Join(words, " ")
}

// command returns the command that started this program. go run removes its binary at
// the end, so for a program that go run started, the command begins with go run.
func (p Program) command() string {
	if !strings.Contains(os.Args[0], "go-build") {
		return quote(os.Args[0])
	}
	if _, err := os.Stat(filepath.Join(filepath.FromSlash(p.Command), "main.go")); err == nil {
		return "go run ./" + p.Command
	}
	return "go run github.com/weft-go/weft/" + p.Command
}

// quote quotes a word for a shell if necessary.
func quote(word string) string {
	plain := strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@%+=,\\") == ""
	if plain && word != "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
