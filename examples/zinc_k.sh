#!/bin/sh
# Which k for molecules? A small GINE on the 12,000 molecules of ZINC, without detours and with the detours of up to
# 4, 5, 6 and 7 edges, by length, as features of the edges; three seeds each, 100 epochs. Needs the raw data in
# $DETOURS_DATA and a GPU (about three minutes; hours on a CPU). Results: zinc-k/none.json, zinc-k/k4.json, …
set -e
mkdir -p zinc-k
common="--data ZINC --model plain --backbone gin --seeds 0-2 --hidden 64 --epochs 100 --out zinc-k/results --json
  --set layers=4 --set patience=100 --set cycle_features=false --set node_den=false"
detours train $common -k 4 --set edge_den=false >zinc-k/none.json
for k in 4 5 6 7; do
  detours train $common -k "$k" --set edge_den=true >"zinc-k/k$k.json"
done
for name in none k4 k5 k6 k7; do
  python -c "import json, sys; r = json.load(open(sys.argv[1])); print(f'{sys.argv[1]}: MAE {r[\"mean\"]:.3f} ± {r[\"std\"]:.3f}')" "zinc-k/$name.json"
done
