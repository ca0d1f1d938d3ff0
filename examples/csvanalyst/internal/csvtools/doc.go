// Package csvtools has the tools with which a model queries the CSV files of a session. The session comes from the
// run and not from the model, so the model cannot read files of another session.
package csvtools
