// Package eval measures the quality of a program that uses models. It runs a target, such as an agent, on the cases of
// a data set, scores each answer, and compares two runs.
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
// The answers of a model vary, so one run is not enough. Options.Repeats runs each case several times. A [Summary] has
// the mean and its confidence interval of 95 percent. The interval assumes that the cases are a random sample of the
// questions of users. [Compare] pairs the cases of two runs, and so finds smaller differences than a comparison of two
// intervals (E. Miller, Adding Error Bars to Evals, 2024).
//
// In an ordinary test, [Report.Require] fails the test if a mean is too low. [Main] is the main function of a command
// that writes a table, a JSON file and a JUnit file, and compares with an earlier run.
package eval
