package deep

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/tools"
)

// Skills lists skills in the prompt. A skill is a folder with a file SKILL.md, in one of the
// given folders. The file begins with front matter in YAML, with a name and a description:
//
//	---
//	name: release-notes
//	description: How to write the release notes of this project.
//	---
//
// The prompt has the name, the description and the file name of each skill. The model reads the
// file when it needs the skill, with the tools of [FileTools]. The folders are read before each
// model call.
// Skills panics if one of dirs is not the name of a folder.
func Skills(files Files, dirs ...string) agent.Middleware {
	for _, dir := range dirs {
		mustBeFolder("Skills", dir)
	}
	return agent.Middleware{Name: "skills", Channels: files.Channels(), Prompt: func(ctx context.Context, r agent.Run) (string, error) {
		var b strings.Builder
		for _, dir := range dirs {
			dir, _ := clean(dir)
			all, err := files.List(ctx, r.State, dir)
			if err != nil {
				return "", fmt.Errorf("deep: skills in %s: %w", dir, err)
			}
			for _, f := range all {
				if path.Base(f.Name) != "SKILL.md" || path.Dir(path.Dir(f.Name)) != dir {
					continue
				}
				text, err := files.Read(ctx, r.State, f.Name)
				if ctx.Err() != nil {
					return "", context.Cause(ctx)
				}
				if errors.Is(err, fs.ErrNotExist) { // the file was removed meanwhile
					continue
				}
				var s skill
				if err == nil {
					s, err = parseSkill(text)
				}
				if err != nil { // the agent may have written the file
					s = skill{path.Base(path.Dir(f.Name)), "This skill cannot be used: " + err.Error()}
				}
				fmt.Fprintf(&b, "\n- %s: %s (%s)", tools.VisibleLine(short(s.Name, maxSkillName)), tools.VisibleLine(short(s.Description, maxDescription)), f.Name)
			}
		}
		if b.Len() == 0 {
			return "", nil
		}
		return "You have these skills. Before you do work that a skill describes, read its file with read_file and follow it:" + b.String(), nil
	}}
}

// The maximum lengths of a skill's name and description in the prompt, in bytes.
const (
	maxSkillName   = 100
	maxDescription = 1024
)

type skill struct {
	Name        string `yaml:"name"`
	Description string `yaml:"description"`
}

// parseSkill reads the front matter of a skill.
func parseSkill(text string) (s skill, err error) {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
	front, ok := strings.CutPrefix(text, "---\n")
	front, _, closed := strings.Cut(front, "\n---")
	if !ok || !closed {
		return s, errors.New("SKILL.md does not begin with front matter between lines of ---")
	}
	if err := yaml.Unmarshal([]byte(front), &s); err != nil {
		return s, err
	}
	if s.Name == "" || s.Description == "" {
		return s, errors.New("the front matter of SKILL.md needs a name and a description")
	}
	return s, nil
}
