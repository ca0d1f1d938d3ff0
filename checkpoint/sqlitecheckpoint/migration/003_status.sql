-- Finds the threads that wait or have failed. These pending writes have numbers below zero.

CREATE INDEX cp_pending_marks ON cp_pending (step) WHERE number < 0;
