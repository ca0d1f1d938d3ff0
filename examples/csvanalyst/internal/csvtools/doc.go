// Package csvtools are the tools with which a model looks at the CSV files of a
// session. Which session that is comes from the run and not from the model, so
// that it can not look at another's files.
package csvtools
