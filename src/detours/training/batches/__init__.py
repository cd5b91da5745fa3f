"""From a data set to the batches of training: features, arcs, detour numbers and positions on the device."""
