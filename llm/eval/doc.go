// Package eval measures how well a program that uses models does its work: it runs a target, such as an agent,
// over the cases of a data set, scores each answer, and compares two runs.
//
//	cases, err := eval.ReadFile("testdata/questions.jsonl")
//	if err != nil {
//		return err
//	}
//	report, err := eval.Run(ctx, cases, ask, []eval.Scorer{eval.Exact(), eval.Judge(model, "The answer names its source.")}, eval.Options{Repeats: 5})
//	if err != nil {
//		return err
//	}
//	err = report.WriteTable(os.Stdout)
//
// A model does not answer twice in the same way, so one run says little. Repeats asks each question several times. The
// interval of a [Summary] says between which values the true mean lies with a confidence of 95 percent, if the cases are a
// sample of what users ask. [Compare] pairs the cases of two runs, which shows smaller differences than two
// intervals do (E. Miller, Adding Error Bars to Evals, 2024).
//
// In an ordinary test, [Report.Require] fails the test if a mean is too low. [Main] is the main function of a command
// that writes a table, a JSON file and a JUnit file, and compares with an earlier run.
package eval
