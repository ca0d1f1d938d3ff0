package main

import (
	"context"
	"runtime"
	"runtime/debug"

	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/server/runs/pgruns"
)

const versionUsage = `usage: weft version [flags]

Prints the version of this command, the revision of its source if that is known, and, for each kind of store
that it migrates, the newest migration. A store with a newer one needs a newer version of the command.
`

// A versionView has the version of the program and of the stores that it migrates.
type versionView struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"` // the source differed from the revision
	Go       string `json:"go"`
	Platform string `json:"platform"`
	// Stores has the name of the newest migration of each store.
	Stores map[string]string `json:"stores"`
}

func runVersion(ctx context.Context, args []string, std *streams) error {
	c := newCall(std, versionUsage).asJSON()
	if err := c.parse(args); err != nil {
		return err
	}
	info, _ := debug.ReadBuildInfo()
	v := versionOf(info)
	var err error
	if v.Stores, err = newestMigrations(ctx); err != nil {
		return err
	}
	if c.json {
		return printJSON(c.out, v)
	}
	say(c.out, "%-18s%s", "weft", v.Version)
	if v.Revision != "" {
		changed := ""
		if v.Modified {
			changed = ", with changes"
		}
		say(c.out, "%-18s%s%s", "revision", v.Revision, changed)
	}
	say(c.out, "%-18s%s %s", "go", v.Go, v.Platform)
	for _, store := range sortedKeys(v.Stores) {
		say(c.out, "%-18s%s", store, v.Stores[store])
	}
	return nil
}

// versionOf returns the version of a program. info is nil if the program was built without this information.
func versionOf(info *debug.BuildInfo) *versionView {
	v := &versionView{Version: "unknown", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info == nil {
		return v
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

// newestMigrations returns the name of the newest migration of each store, by the package of the store.
func newestMigrations(ctx context.Context) (map[string]string, error) {
	scripts, err := pgcheckpoint.Scripts("")
	if err != nil {
		return nil, err
	}
	file, err := newestByTable(ctx)
	if err != nil {
		return nil, err
	}
	last := func(names []string) string { return names[len(names)-1] }
	return map[string]string{
		"pgcheckpoint": scripts[len(scripts)-1].Name, "pgruns": last(pgruns.Migrations()),
		"sqlitecheckpoint": last(file["cp_migration"]), "sqliteruns": last(file["run_migration"]),
	}, nil
}
