package main

// childFolder names the variable in which a test gives its folder to the process
// that it starts.
const childFolder = "CSVANALYST_TEST_FOLDER"
