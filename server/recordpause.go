package server

import (
	"strings"

	"github.com/weft-go/weft/graph"
)

// paused writes the questions at which the run waits. It writes questions of a subgraph also for the graphs around it.
func (r *recorder) paused(sc *scope, at *graph.Place, e graph.Paused) error {
	if at.Path != "" {
		return nil
	}
	if sc.pending == nil { // the state has uncommitted writes of an unfinished superstep
		sc.held = nil
	}
	if err := r.flush(sc, at); err != nil {
		return err
	}
	questions := e.Pauses[:0:0]
	for _, p := range e.Pauses {
		if p.Kind == graph.Question {
			questions = append(questions, p)
		}
	}
	if len(questions) == 0 {
		return r.write(sc, at, kindInterrupt, interruptEvent{Interrupts: []interrupt{}})
	}
	return r.ask(sc, at, "", questions)
}

// stopped writes the pauses at which the run has stopped, for a run whose graph emits no events.
func (r *recorder) stopped(at []graph.Pause) error {
	return r.paused(r.root(), &graph.Place{Time: now()}, graph.Paused{Pauses: at})
}

// ask writes the questions of the tasks of a scope, innermost first.
func (r *recorder) ask(sc *scope, at *graph.Place, path string, questions []graph.Pause) error {
	var tasks []string
	byTask := map[string][]graph.Pause{}
	for _, q := range questions {
		rest := strings.TrimPrefix(strings.TrimPrefix(q.Path, path), "/")
		task, _, _ := strings.Cut(rest, "/")
		if byTask[task] == nil {
			tasks = append(tasks, task)
		}
		byTask[task] = append(byTask[task], q)
	}
	for _, task := range tasks {
		inner := task
		if path != "" {
			inner = path + "/" + task
		}
		if sub := r.scopes[inner]; sub != nil {
			sub.held = nil
			where := *at
			where.Path = inner
			if err := r.ask(sub, &where, inner, byTask[task]); err != nil {
				return err
			}
		}
		if err := r.askTask(sc, at, task, byTask[task]); err != nil {
			return err
		}
	}
	return nil
}

func (r *recorder) askTask(sc *scope, at *graph.Place, task string, questions []graph.Pause) error {
	open := make([]interrupt, len(questions))
	for i, q := range questions {
		open[i] = newInterrupt(q)
	}
	task, _, _ = strings.Cut(task, "~")
	id := r.taskID(sc, task, sc.step)
	if len(sc.tasks) == 0 {
		r.keep(id+asked, sc.checkpoint, taskResult{Interrupts: open, Node: nodeOf(task), Step: r.stepOf(sc, sc.step), Run: r.run.id})
	}
	if err := r.write(sc, at, kindInterrupt, interruptEvent{Interrupts: open, Values: sc.channels.shown(sc.values)}); err != nil {
		return err
	}
	return r.write(sc, at, kindResult, resultEvent{ID: id, Name: nodeOf(task), Result: emptyObject, Interrupts: open})
}
