// Package faults does to the embedded server what happens to processes and disks: it stops it for longer than every timeout,
// fills its disk, tears and damages its files, kills it while it starts, and has thousands of runs due at once. The server is
// the real one, in a process of its own, with the workflows of this package.
//
// It is behind the build tag faults: make test-faults. These variables change it:
//
//	FAULTS_SEED   what is done, and when, as far as a machine repeats it; each run prints its own
//	FAULTS_STOPS  how often it is stopped (3)
//	FAULTS_FULL   how often its disk is full (3)
//	FAULTS_TEARS  how often its files are torn and damaged (4)
//	FAULTS_KILLS  how often it is killed while it starts (10)
//	FAULTS_RUNS   how many runs are due at once (1000), every tenth with FAULTS_RECORDS records (200), the others with a 20th of that
//	FAULTS_LARGE  how many runs of 5 MB wait where there is little memory (30); 1000 is the whole load
package faults
