package terminal

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
)

// usage returns the help text.
func (p Program) usage() string {
	return fmt.Sprintf(usageText, "go run ./"+p.Command, p.Models)
}

const usageText = `Asks an agent about a text file. The next question continues the conversation.

  %s [flags] "question"

  -file PATH      the text: UTF-8, at most 8 MB (default: the file of the
                  conversation; in a new one README.md, here or in the module)
  -thread NAME    the conversation (default "default")
  -db PATH        the file that stores conversations (default quickstart.db)
  -notes PATH     the file for notes (default quickstart-notes.md, in the folder
                  of the database)
  -resume yes|no  answer the open question of the agent
  -drop           ask another question and leave the open one unanswered
  -history        list the checkpoints of the conversation
  -at ID          go back to a checkpoint: with a question, ask it there; without
                  one, run its next step again. ID may be a part of the id
  -v              show what happens inside: steps, tool calls, checkpoints
  -draw           print the agent's graph for Mermaid
  -pace DURATION  the time that the offline model takes for a word
                  (default 12ms on a terminal, else 0)

%s
Without a question, the program resumes a run that was stopped or killed. Otherwise
it reads questions from the input, one a line: a conversation.
It writes the database, and notes only after your yes.
Exit status: 0 done or waiting for your answer, 1 failure, 2 bad input and nothing
changed, 130 stopped by Ctrl-C.
`

// options is the command line.
type options struct {
	file, thread, db, notes, resume, at string
	drop, history, draw, verbose        bool
	pace                                time.Duration
	question                            string
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
	set.DurationVar(&o.pace, "pace", -1, "")
	if err := set.Parse(args); errors.Is(err, flag.ErrHelp) {
		return o, errHelp
	} else if err != nil {
		return o, wrong("%v; -h lists the flags", err)
	}
	for _, word := range set.Args() {
		name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
		if strings.HasPrefix(word, "-") && set.Lookup(name) != nil {
			return o, wrong("flags must come before the question: %s", word)
		}
	}
	given := map[string]bool{}
	set.Visit(func(f *flag.Flag) { given[f.Name] = true })
	o.question = strings.TrimSpace(strings.Join(set.Args(), " "))
	return o, o.check(given, set.NArg() > 0)
}

// check returns an error for flags that exclude each other and for bad values.
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
		{len(verbs) > 1, wrong("%s cannot be given together", strings.Join(verbs, " and "))},
		{asked && takesNone, wrong("%s takes no question", strings.Join(verbs, ""))},
		{o.drop && (!asked || o.at != ""), wrong("-drop goes with a new question")},
		{strings.ContainsFunc(o.thread, func(r rune) bool { return !unicode.IsPrint(r) }), wrong("-thread %q has characters that cannot be printed", o.thread)},
		{given["pace"] && o.pace < 0, wrong("-pace is negative")},
	} {
		if m.is {
			return m.err
		}
	}
	return nil
}
