// Colours of the drawing, for light and dark themes. Ramps run from few to many.

const THEMES = {
  light: {
    paper: "#ffffff", ink: "#1a1f24", edges: ["#d3dae2", "#8fbbdc", "#2f7ebc", "#08306b"],
    nodes: ["#fde3c8", "#fdae6b", "#e6550d", "#7f2704"], selected: "#111111", path: "#d6006c", faint: "#e9edf1",
  },
  dark: {
    paper: "#101418", ink: "#e6edf3", edges: ["#333f4b", "#2f6ea3", "#5fb4f5", "#e3f3ff"],
    nodes: ["#4d3b2c", "#a8611f", "#f59a3e", "#ffe3bd"], selected: "#ffffff", path: "#ff5fb0", faint: "#1d242b",
  },
};
// Okabe and Ito's colours, which colour-blind people can tell apart, and viridis where there are more.
const DISTINCT = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#7f7f7f"];
const MANY = ["#440154", "#3b528b", "#21918c", "#5ec962", "#fde725"];
const LEVELS = 24; // links of one level are stroked together

function mixed(stops, share) {
  const at = Math.min(Math.max(share, 0), 1) * (stops.length - 1);
  const low = Math.min(Math.floor(at), stops.length - 2);
  const parts = [1, 3, 5].map((i) => {
    const [from, to] = [stops[low], stops[low + 1]].map((stop) => parseInt(stop.slice(i, i + 2), 16));
    return Math.round(from + (to - from) * (at - low)).toString(16).padStart(2, "0");
  });
  return `#${parts.join("")}`;
}

// A function from counts to [0, 1]: linear scales start at 0, logarithmic ones at the smallest count.
function scaleOf({ least, most }, kind) {
  const logarithmic = kind === "log";
  const read = (count) => (logarithmic ? Math.log1p(Number(count)) : Number(count));
  const low = logarithmic ? read(least) : 0;
  const span = read(most) - low;
  return (count) => (span > 0 ? (read(count) - low) / span : most > 0n ? 1 : 0);
}

// The values at the ends and in the middle of the scale.
function ticksOf({ least, most }, kind) {
  if (kind === "log") {
    const [low, high] = [Math.log1p(Number(least)), Math.log1p(Number(most))];
    return [least, BigInt(Math.round(Math.expm1((low + high) / 2))), most];
  }
  return most > 1n ? [0n, BigInt(Math.round(Number(most) / 2)), most] : [0n, most];
}

// The displayed colour of each colour of the refinement, the same in both graphs.
function paletteOf(models, start, round) {
  const present = [...new Set(models.flatMap((model) => model.colours[start][round]))].sort((a, b) => a - b);
  const few = present.length <= DISTINCT.length;
  return new Map(present.map((colour, i) => [colour, few ? DISTINCT[i] : mixed(MANY, i / (present.length - 1))]));
}

function drawRamp(canvas, stops) {
  const context = canvas.getContext("2d");
  for (let x = 0; x < canvas.width; x += 1) {
    context.fillStyle = mixed(stops, x / (canvas.width - 1));
    context.fillRect(x, 0, 1, canvas.height);
  }
}
