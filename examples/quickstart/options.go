package main

import (
	"errors"
	"flag"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
)

const usage = `Asks an agent about a text file, and goes on with the conversation next time.

  go run ./examples/quickstart [flags] "question"

  -file PATH      the text: UTF-8, at most 8 MB. Default: the file that the
                  conversation is about, and for a new one the README.md
                  here, or else of the module around
  -thread NAME    which conversation (default "default")
  -db PATH        where conversations are kept (default quickstart.db, here)
  -notes PATH     where notes are saved (default quickstart-notes.md, beside
                  the database)
  -resume yes|no  answer what the agent waits for
  -drop           ask something else instead of answering
  -history        list the checkpoints of the conversation
  -at ID          go back to a checkpoint: with a question, ask that there; with
                  none, do again what was due. Any part of an id will do
  -v              show what happens inside: steps, tool calls, checkpoints
  -draw           print the agent's graph for Mermaid
  -offline        ask the offline model, whatever the environment names
  -pace DURATION  how long the offline model takes for a word
                  (default 12ms on a terminal, else 0)

The model is that of OPENAI_API_KEY, ANTHROPIC_API_KEY, GOOGLE_API_KEY,
MISTRAL_API_KEY, OLLAMA_HOST or LLM_PROVIDER, with LLM_MODEL where it is given,
and without any of them rules that need no network: the offline model.
Without a question a run that was stopped or killed goes on where it was.
Nothing is written but the database, and notes that you agree to.
Exit status: 0 done or waiting for your answer, 1 failure, 2 bad input, with
nothing changed, 130 stopped by Ctrl-C.
`

// options is the command line.
type options struct {
	file, thread, db, notes, resume, at   string
	drop, history, draw, offline, verbose bool
	pace                                  time.Duration
	question                              string
}

var errHelp = errors.New("help")

func parse(args []string) (options, error) {
	var o options
	set := flag.NewFlagSet("quickstart", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.StringVar(&o.file, "file", "", "")
	set.StringVar(&o.thread, "thread", "default", "")
	set.StringVar(&o.db, "db", "quickstart.db", "")
	set.StringVar(&o.notes, "notes", "", "")
	set.StringVar(&o.resume, "resume", "", "")
	set.StringVar(&o.at, "at", "", "")
	set.BoolVar(&o.drop, "drop", false, "")
	set.BoolVar(&o.history, "history", false, "")
	set.BoolVar(&o.draw, "draw", false, "")
	set.BoolVar(&o.verbose, "v", false, "")
	set.BoolVar(&o.offline, "offline", false, "")
	set.DurationVar(&o.pace, "pace", -1, "")
	if err := set.Parse(args); errors.Is(err, flag.ErrHelp) {
		return o, errHelp
	} else if err != nil {
		return o, wrong("%v; -h lists the flags", err)
	}
	for _, word := range set.Args() {
		name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
		if strings.HasPrefix(word, "-") && set.Lookup(name) != nil {
			return o, wrong("flags stand before the question: %s", word)
		}
	}
	given := map[string]bool{}
	set.Visit(func(f *flag.Flag) { given[f.Name] = true })
	o.question = strings.TrimSpace(strings.Join(set.Args(), " "))
	return o, o.check(given, set.NArg() > 0)
}

// check refuses what does not go together.
func (o options) check(given map[string]bool, asked bool) error {
	values := map[string]string{"file": o.file, "thread": o.thread, "db": o.db, "notes": o.notes, "at": o.at}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if given[name] && values[name] == "" {
			return wrong("-%s needs a value; -h lists the flags", name)
		}
	}
	_, readsAsAnswer := yesOrNo(o.resume)
	verbs := slices.DeleteFunc([]string{"-at", "-draw", "-history", "-resume"}, func(flag string) bool { return !given[flag[1:]] })
	takesNone := len(verbs) == 1 && verbs[0] != "-at"
	for _, m := range []struct {
		is  bool
		err error
	}{
		{asked && o.question == "", wrong("the question is empty")},
		{given["resume"] && !readsAsAnswer, wrong("-resume takes yes or no, not %q", o.resume)},
		{len(verbs) > 1, wrong("%s can not be given together", strings.Join(verbs, " and "))},
		{asked && takesNone, wrong("%s takes no question", strings.Join(verbs, ""))},
		{o.drop && (!asked || o.at != ""), wrong("-drop goes with a new question")},
		{strings.ContainsFunc(o.thread, func(r rune) bool { return !unicode.IsPrint(r) }), wrong("-thread %q has characters that can not be shown", o.thread)},
		{given["pace"] && o.pace < 0, wrong("-pace is negative")},
	} {
		if m.is {
			return m.err
		}
	}
	return nil
}
