"""`muster simulate replay`: workloads from CSV files, through the real decisions, in virtual time.

`tables`, `workload` and `capacity_files` read files; `intake` is admission; `book` the log and the
fold; `engine` lets time pass; `machines` are the pretended executors; `meters` look on; `figures`
say what came of it; `views`, `plots` and `page` show it. No rule of Muster is written a second time
here: the order, the placement, the evictions and the requeues are those of the services.
"""
