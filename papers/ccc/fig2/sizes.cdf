# Sizes of 10 KB to 100 KB, equally likely: size in bytes, percentage of flows up to it.
10000 0
100000 100
