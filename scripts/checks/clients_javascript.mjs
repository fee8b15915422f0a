// Encode and decode the texts of a JSON file with a JavaScript library, and print how many results differ from the file.
//
//     node clients_javascript.mjs LIBRARY FOLDER CASES      LIBRARY: @huggingface/transformers or @huggingface/tokenizers
//
// CASES and the result have the same format as in clients_python.py.
import fs from "node:fs";
import path from "node:path";

const [library, folder, cases] = process.argv.slice(2);

async function load() {
  const module = await import(library);
  if (library.endsWith("/tokenizers")) {
    const read = (name) => JSON.parse(fs.readFileSync(path.join(folder, name), "utf-8"));
    const tokenizer = new module.Tokenizer(read("tokenizer.json"), read("tokenizer_config.json"));
    return {
      encode: (text) => tokenizer.encode(text, { add_special_tokens: false }).ids,
      decode: (ids) => tokenizer.decode(ids, { clean_up_tokenization_spaces: false }),
    };
  }
  module.env.allowRemoteModels = false;
  module.env.localModelPath = path.dirname(path.resolve(folder)) + "/";
  const tokenizer = await module.AutoTokenizer.from_pretrained(path.basename(path.resolve(folder)));
  return {
    encode: (text) => tokenizer.encode(text, { add_special_tokens: false }),
    decode: (ids) => tokenizer.decode(ids),
  };
}

const tokenizer = await load();
const result = { wrong_ids: 0, natural: 0, wrong_text: 0, first: null };
for (const { text, ids, natural } of JSON.parse(fs.readFileSync(cases, "utf-8"))) {
  const wrongIds = JSON.stringify(Array.from(tokenizer.encode(text), Number)) !== JSON.stringify(ids);
  const wrongText = ids.length > 0 && tokenizer.decode(ids) !== text;
  result.wrong_ids += wrongIds;
  result.natural += wrongIds && natural;
  result.wrong_text += wrongText;
  if (wrongIds || wrongText) result.first ??= text;
}
console.log(JSON.stringify(result));
