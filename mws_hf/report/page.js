// Unpacks a vocabulary when it is first shown, and searches in it.
const packed = [...document.querySelectorAll(".vocabulary")], opened = [];
const at = (name) => document.getElementById(name);
const MOST = 300;

function vocabulary(number) {
  opened[number] ??= (async () => {
    const bytes = Uint8Array.from(atob(packed[number].textContent.trim()), (each) => each.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return unfolded(JSON.parse(await new Response(stream).text()));
  })();
  return opened[number];
}

// Entries are sorted by id. An id is stored as its difference from the previous one, a rank as that from its id.
function unfolded(columns) {
  let id = 0;
  columns.id = columns.id.map((step) => id += step);
  columns.rank = columns.rank.map((step, i) => step === null ? -1 : step + columns.id[i]);
  columns.order = columns.id.map((_, i) => i).sort((a, b) => columns.uses[b] - columns.uses[a] || a - b);
  return columns;
}

const wanted = {
  "": () => true,
  unused: (v, i) => v.uses[i] === 0,
  morph: (v, i) => v.kind[i].endsWith("morph"),  // "added morph" is a merge of an extended tokenizer
  composition: (v, i) => v.kind[i].endsWith("composition"),
  added: (v, i) => v.kind[i] === "added token",
  against: (v, i) => v.edges[i] > 1 && v.right[i] * 2 < v.edges[i],
  cuts: (v, i) => v.ends[i] !== null && v.ends[i] < 20,
  hides: (v, i) => v.inside[i] > 50,
};

function markScrolling() {
  for (const each of document.querySelectorAll(".wide")) each.classList.toggle("scrolls", each.scrollWidth > each.clientWidth + 1);
}

let latest = 0;
async function show() {
  const mine = ++latest, number = Number(at("which").value), query = at("query").value.toLowerCase();
  const v = await vocabulary(number);
  if (mine !== latest) return;
  const filter = wanted[at("filter").value], rows = [];
  let found = 0;
  for (const i of v.order) {
    if ((query && !v.shown[i].toLowerCase().includes(query)) || !filter(v, i)) continue;
    if (++found > MOST) continue;
    const kind = v.kind[i].replace("composition", "frequency");
    const merge = v.rank[i] < 0 ? (kind || "none") : `${v.rank[i]}${kind ? `, ${kind}` : ""}`;
    const cells = [v.shown[i].replaceAll(" ", "␣").replaceAll("\n", "↵").replaceAll("\t", "⇥"), v.id[i]];
    if (hasText) cells.push(v.uses[i]);
    cells.push(merge);
    if (hasGold) cells.push(v.edges[i] ? `${v.right[i]} of ${v.edges[i]}` : "");
    if (hasEvidence) cells.push(...[v.ends[i], v.inside[i]].map((each) => each === null ? "" : `${each} %`));
    const row = document.createElement("tr");
    cells.forEach((text, column) => {
      const cell = row.insertCell();
      cell.textContent = text;
      if (column > 0 && text !== merge) cell.className = "figure";
    });
    rows.push(row);
  }
  at("tokens").replaceChildren(...rows);
  markScrolling();
  const all = Number(packed[number].dataset.all), kept = Number(packed[number].dataset.kept);
  const missing = kept < all ? ` The page contains the ${kept.toLocaleString("en")} most used of ${all.toLocaleString("en")} tokens.` : "";
  const first = found > MOST ? `, of which the first ${MOST} are shown` : "";
  at("found").textContent = `${found.toLocaleString("en")} token${found === 1 ? "" : "s"}${first}.${missing}`;
}

for (const name of ["which", "filter"]) at(name).addEventListener("change", show);
at("query").addEventListener("input", show);
at("search").addEventListener("submit", (event) => event.preventDefault());
addEventListener("resize", markScrolling);
for (const each of document.querySelectorAll("details")) each.addEventListener("toggle", markScrolling);
markScrolling();
show();
