graph [
  node [
    id 0
    label "&#228;"
  ]
  node [
    id 1
    label "b c"
  ]
  node [
    id 2
    label "d"
  ]
  node [
    id 3
    label "e"
  ]
  edge [
    source 0
    target 1
  ]
  edge [
    source 0
    target 2
  ]
  edge [
    source 1
    target 2
  ]
  edge [
    source 2
    target 3
  ]
]
