# Manual pages (mdoc).
dist_man_MANS +=
