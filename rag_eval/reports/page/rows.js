// Makes rows of the table, and what they show when they are opened, from the data of the page.
// What comes from samples becomes text or the value of an attribute, and never markup.
const rowMaker = (keys) => {
  const LEVELS = ["supported", "weak", "unsupported"];
  const BLANK = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
  const BLANKS = new RegExp(`[${BLANK}]+`, "u");
  const AT_END = new RegExp(`[${BLANK}]+$`, "u");
  const SENTENCE_END = new RegExp(`[.!?\u3002\uff01\uff1f][${BLANK}]+|\\n+`, "gu");
  const WORD = /[\p{L}\p{N}]+(?:['\u2019.,:-][\p{L}\p{N}]+)*/gu;
  const ENDING = /(?<=[\p{L}\p{N}]{3})(?:['\u2019]s|ing|ied|ies|ed|es|ly|s|e|y)$/u;
  const DIGIT = /^[\p{Nd}\u00b2\u00b3\u00b9\u2070\u2074-\u2079\u2080-\u2089]/u;
  const HIDDEN = new RegExp(
    "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\xad\\u061c\\u115f\\u1160\\u180e\\u200b\\u200e\\u200f" +
    "\\u2028-\\u202e\\u2060-\\u206f\\u2800\\u3164\\ud800-\\udfff\\ufeff\\uffa0\\ufff9-\\ufffb" +
    "\\ufffe\\uffff\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e007f}]+", "gu");
  // Characters shown around a passage, and of a sentence or passage at most.
  const AROUND = 90;
  const LONGEST = 1500;
  const MOST_KEYS = 20;
  const stopWords = new Set(keys.stopWords);

  // -------------------------------------------------------------------------- elements and texts
  const make = (tag, attributes, ...parts) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (value !== null) element.setAttribute(name, value);
    }
    element.append(...parts.flat(Infinity).filter((part) => part !== null && part !== ""));
    return element;
  };
  const hex = (code, width) => code.toString(16).padStart(width, "0");
  const escaped = (code) => (code < 0x100 ? `\\x${hex(code, 2)}`
    : code < 0x10000 ? `\\u${hex(code, 4)}` : `\\U${hex(code, 8)}`);
  const codesOf = (text) => Array.from(text, (character) => character.codePointAt(0));
  const control = (hidden) => {
    const codes = codesOf(hidden);
    const names = codes.slice(0, 8).map((code) => `U+${hex(code, 4).toUpperCase()}`);
    const title = names.join(" ") + (codes.length > 8 ? " \u2026" : "");
    return make("span", { class: "control", title }, codes.map(escaped).join(""));
  };
  // A text with invisible characters as escapes.
  const visible = (given) => {
    const text = given.replaceAll("\r\n", "\n");
    const parts = [];
    let end = 0;
    for (const found of text.matchAll(HIDDEN)) {
      parts.push(text.slice(end, found.index), control(found[0]));
      end = found.index + found[0].length;
    }
    return [...parts, text.slice(end)];
  };
  const plain = (text) => text.replaceAll("\r\n", "\n")
    .replace(HIDDEN, (hidden) => codesOf(hidden).map(escaped).join(""));
  // Spans count code points: a text with characters of two units is taken apart.
  const points = (text) => (/[\ud800-\udfff]/.test(text) ? Array.from(text) : text);
  const cut = (all, begin, end) => {
    const some = all.slice(begin, end);
    return typeof some === "string" ? some : some.join("");
  };
  const line = (text, limit) => {
    const all = points(text.replaceAll("\r\n", "\n"));
    const found = cut(all, 0, 4 * limit).split(BLANKS).filter((part) => part).join(" ");
    const shown = points(found);
    if (shown.length <= limit && all.length <= 4 * limit) return visible(found);
    return visible(`${cut(shown, 0, limit - 1)}\u2026`);
  };
  const count = (number) => number.toLocaleString("en");
  const clip = (text) => visible(
    typeof text === "string" ? text : `${text[0]}\u2026 ${count(text[1])} more characters`);
  const plural = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
  const fixed = (value, digits) => {
    const power = 10 ** digits;
    // Halves go to the even neighbour, as they do in the rest of the page.
    if (Number.isInteger(value * 2 ** (digits + 1)) && !Number.isInteger(value * 2 ** digits)) {
      const below = Math.floor(value * power);
      return ((below % 2 ? below + 1 : below) / power).toFixed(digits);
    }
    return value.toFixed(digits);
  };
  const exponential = (value) =>
    value.toExponential(2).replace(/\.?0+e/, "e").replace(/e([+-])(\d)$/, "e$10$2");
  const decimals = (value, digits) =>
    (Math.abs(value) < 100000 ? fixed(value, digits) : exponential(value));
  const score = (value) => (value === null ? "\u2013" : decimals(value, 2));

  // ------------------------------------------------------------------------------------- lines
  const { columns, ids, names, lines, texts, metrics, nulls } = keys;
  const nameOf = (place) => ids[place] ?? names[place];
  const searched = (place) =>
    [ids[place] || names[place], ...texts[place]].join("\n").toLowerCase();
  const without = {};
  for (const [metric, words] of Object.entries(nulls)) {
    without[metric] = new Map(Object.entries(words).flatMap(
      ([word, places]) => places.map((place) => [place, word])));
  }
  const failing = {};
  for (const [metric, places] of Object.entries(keys.failing)) failing[metric] = new Set(places);

  const cell = (place) => ([metric, shown]) => {
    const value = columns[metric][place];
    const label = { "data-metric": plain(shown) };
    if (value === null) {
      return make("td", { class: "score null", ...label }, without[metric].get(place));
    }
    const failed = failing[metric]?.has(place);
    return make("td", { class: `score${failed ? " failed" : ""}`, ...label },
      failed ? "\u2717 " : "", score(value));
  };
  const changed = (value) => {
    const way = !value ? "" : value < 0 ? " worse" : " better";
    const sign = value >= 0 ? "+" : "";
    const text = value === null ? "\u2013" : !value ? "0"
      : (value < 0 ? "\u25bc " : "\u25b2 ") + (sign + decimals(value, 3)).replaceAll("-", "\u2212");
    return make("td", { class: `score change${way}`, "data-metric": "change" }, text);
  };
  const body = (place, command) => {
    const number = columns.number[place];
    const status = ["failed", "unmeasured", "passed"][columns.status[place]];
    const [question, answer] = texts[place];
    const cells = [
      make("td", { class: "number" }, String(lines[place] ?? number + 1)),
      make("th", { scope: "row" }, make("bdi", {}, line(nameOf(place), 40))),
      make("td", { class: "question", dir: "auto" }, make("div", {}, line(question, 160))),
      metrics.map(cell(place)),
      make("td", { class: "score composite", "data-metric": "composite" },
        score(columns.composite[place])),
      columns.change ? changed(columns.change[place]) : null,
      make("td", { class: `status ${status}` },
        { passed: "\u2713 passed", failed: "\u2717 failed", unmeasured: "\u2013 no score" }[status]),
    ].flat();
    const preview = answer
      ? make("span", { class: "preview" }, "Answer: ", make("bdi", {}, line(answer, 160))) : null;
    const below = command !== undefined
      ? make("p", { class: "hint" },
        "This page has no room for the details of this row. To show them: ",
        make("code", {}, visible(command)))
      : make("details", { class: "sample-detail" }, make("summary", {},
        make("span", { class: answer ? "what" : null }, "Details "), preview));
    const width = cells.filter((each) => each).length;
    return make("tbody", {
      class: "sample", id: `row-${number}`, "data-number": number,
      "data-id": plain(cut(points(ids[place] ?? ""), 0, 200)), "data-status": status,
    },
    make("tr", { class: `scores ${status}` }, cells),
    make("tr", { class: "detail" }, make("td", { colspan: width }, below)));
  };

  // ----------------------------------------------------------------- sentences and their windows
  const windowsOf = (sides, number) => Object.entries(sides).flatMap(([side, sentences]) =>
    sentences.flatMap(([, , , level, chunk, begin, end], place) =>
      (chunk === number && end !== undefined ? [{ key: side + place, begin, end, level }] : [])));

  // The pieces of a part of a context, split wherever a window begins or ends.
  const split = (all, begin, stop, windows, prefix, anchors) => {
    const touching = windows.filter((each) => each.begin < stop && each.end > begin)
      .sort((one, other) => one.begin - other.begin || one.end - other.end);
    const bounds = new Set([begin, stop]);
    for (const each of touching) {
      bounds.add(Math.max(each.begin, begin)).add(Math.min(each.end, stop));
    }
    const ordered = Array.from(bounds).sort((one, other) => one - other);
    let active = [];
    let following = 0;
    return ordered.slice(0, -1).map((low, place) => {
      active = active.filter((each) => each.end > low);
      let anchor = null;
      while (following < touching.length && Math.max(touching[following].begin, begin) <= low) {
        anchor = `${prefix}-${low}`;
        anchors[touching[following].key] ??= anchor;
        active.push(touching[following++]);
      }
      const text = visible(cut(all, low - begin, ordered[place + 1] - begin));
      if (!active.length) return text;
      const level = LEVELS[Math.min(...active.map((each) => each.level))];
      const its = active.slice(0, MOST_KEYS).map((each) => each.key).join(" ");
      return make("mark", { class: `window ${level}`, id: anchor, "data-keys": its }, text);
    });
  };
  const gap = (number) => make("span", { class: "more" }, `\u2026 ${count(number)} more characters \u2026`);
  const context = (given, number, prefix, sides, anchors, relevances) => {
    const isWhole = typeof given === "string";
    const whole = isWhole ? points(given) : null;
    const length = isWhole ? whole.length : given[0];
    const parts = isWhole ? (length ? [[0, whole]] : [])
      : given[1].map(([begin, text]) => [begin, points(text)]);
    const windows = windowsOf(sides, number)
      .filter(({ begin, end }) => 0 <= begin && begin < end && end <= length);
    const pieces = [];
    let end = 0;
    for (const [begin, all] of parts) {
      if (begin > end) pieces.push(gap(begin - end));
      end = begin + all.length;
      pieces.push(split(all, begin, end, windows, prefix, anchors));
    }
    if (end < length) pieces.push(gap(length - end));
    if (!pieces.length) pieces.push(make("span", { class: "none" }, "empty"));
    const scores = relevances.flatMap(([name, each]) => [" ", make("span", {}, visible(name), ` ${each}`)]);
    return make("div", { class: "chunk", id: prefix, tabindex: "-1" },
      make("p", { class: "chunk-head" }, `context ${number}`, scores),
      make("div", { class: "text", dir: "auto" }, pieces));
  };
  const passage = (given, sentences, side, anchors, empty) => {
    const [text, more] = typeof given === "string" ? [given, 0] : given;
    const all = points(text);
    const pieces = [];
    let end = 0;
    for (const [place, [begin, last, support, level, chunk]] of sentences.entries()) {
      const stop = more ? Math.min(last, all.length) : last;
      if (!(end <= begin && begin < stop && stop <= all.length)) continue;
      if (begin > end) pieces.push(visible(cut(all, end, begin)));
      const key = side + place;
      const anchor = anchors[key];
      const match = chunk === null ? "" : `, best match in context ${chunk}`;
      pieces.push(make(anchor ? "a" : "span", {
        class: `sentence ${LEVELS[level]}`, href: anchor ? `#${anchor}` : null, "data-key": key,
      }, visible(cut(all, begin, stop)),
      make("span", { class: "hidden" }, ` (${LEVELS[level]} ${support}${match})`)));
      end = stop;
    }
    if (end < all.length) pieces.push(visible(cut(all, end)));
    if (!pieces.length) return make("p", { class: "none" }, empty);
    if (more) {
      pieces.push(make("span", { class: "more" }, `\u2026 ${count(more)} more characters`));
    }
    return make("div", { class: "text", dir: "auto" }, pieces);
  };

  // -------------------------------------------------- unsupported sentences and nearest passages
  const wordsOf = (text) => text.match(WORD) ?? [];
  const folded = (word) => word.split("\u0131").map((part) => part.toUpperCase().toLowerCase())
    .join("\u0131").replaceAll("\u03c2", "\u03c3");
  const stem = (word) => {
    const found = folded(word);
    return DIGIT.test(found) ? found.replace(/[,'\u2019]/g, "") : found.replace(ENDING, "");
  };
  const stemsOf = (text) => new Set(wordsOf(text).map(stem));
  // A text in pieces of one mark each; blanks between two marked words are marked, too.
  const marked = (text, mark, between) => {
    const pieces = [];
    const add = (piece, kind) => {
      const bare = kind === between ? piece : piece.replace(AT_END, "");
      if (bare) pieces.push([bare, kind]);
      if (bare.length < piece.length) pieces.push([piece.slice(bare.length), between]);
    };
    let [pending, kind, end] = ["", between, 0];
    for (const found of text.matchAll(WORD)) {
      for (const [part, its] of [[text.slice(end, found.index), between], [found[0], mark(found[0])]]) {
        if (!part) continue;
        if (its === kind || !part.replace(AT_END, "")) {
          pending += part;
          continue;
        }
        if (pending) add(pending, kind);
        [pending, kind] = [part, its];
      }
      end = found.index + found[0].length;
    }
    add(pending, kind);
    if (end < text.length) pieces.push([text.slice(end), between]);
    return pieces;
  };
  const shownMarks = (pieces) => pieces.map(([text, kind]) =>
    (kind ? make("mark", { class: kind }, visible(text)) : visible(text)));

  // Where the nearest passage is: of a whole context, its sentence with the most words in common.
  const nearest = (sentence, text, contexts) => {
    const [, , , , chunk, begin, end] = sentence;
    if (chunk === null || chunk >= contexts.length || typeof contexts[chunk] !== "string") return null;
    const whole = contexts[chunk];
    const all = points(whole);
    const part = { all, offset: 0, length: all.length, begin, end };
    if (end !== undefined) return part;
    const ends = Array.from(whole.matchAll(SENTENCE_END), (found) => found.index + found[0].length);
    const words = stemsOf(text);
    let best = null;
    for (const [place, low] of [0, ...ends].entries()) {
      const high = ends[place] ?? whole.length;
      if (low === high) continue;
      const shared = Array.from(stemsOf(whole.slice(low, high))).filter((one) => words.has(one)).length;
      if (!best || shared > best.shared) best = { shared, low, high };
    }
    const at = (place) => points(whole.slice(0, place)).length;
    return best && { ...part, begin: at(best.low), end: at(best.high) };
  };
  const shownPassage = ({ all, offset, length, begin, end: last }, other) => {
    const end = Math.min(last, begin + LONGEST);
    let low = Math.max(0, begin - AROUND);
    let high = Math.min(all.length, end + AROUND);
    const isBegin = low + offset === 0;
    const isEnd = high + offset >= length;
    if (!isBegin) {
      let blank = low;
      while (blank < begin && all[blank] !== " ") blank++;
      if (blank < begin) low = blank + 1;
    }
    if (!isEnd) {
      let blank = high - 1;
      while (blank >= end && all[blank] !== " ") blank--;
      high = Math.max(blank, end);
    }
    const opposed = other === "" ? null : stem(other);
    const pieces = [[low, begin, ""], [begin, end, "window"], [end, high, ""]]
      .filter(([first, stop]) => first < stop)
      .flatMap(([first, stop, kind]) => {
        const text = cut(all, first, stop);
        if (opposed === null) return [[text, kind]];
        return marked(text, (word) => (stem(word) === opposed ? "other" : kind), kind);
      });
    return shownMarks([...(isBegin ? [] : [["\u2026 ", ""]]), ...pieces, ...(isEnd ? [] : [[" \u2026", ""]])]);
  };
  const pair = (kind, side, sentences, text, contexts, anchors) =>
    ([place, remarks, missing, other, far, own]) => {
      const sentence = sentences[place];
      const [begin, end, support, level, chunk] = sentence;
      const claim = own ?? cut(points(text), begin, end);
      const part = far
        ? { all: points(far[0]), begin: far[1], end: far[2], offset: far[3], length: far[4] }
        : nearest(sentence, claim, contexts);
      const known = part ? stemsOf(cut(part.all, part.begin, part.end)) : new Set();
      const absent = new Set(missing.flatMap(wordsOf).map(stem));
      const mark = (word) => {
        const its = stem(word);
        if (absent.has(its)) return "absent";
        if (!known.size || known.has(its)) return "";
        const tells = DIGIT.test(word) || (points(word).length > 2 && !stopWords.has(folded(word)));
        return tells ? "differs" : "";
      };
      const anchor = anchors[side + place];
      const where = `context ${chunk}`;
      return make("div", { class: "pair" },
        make("div", { class: "claim" },
          make("p", { class: "pair-head" },
            make("span", { class: `level ${LEVELS[level]}` }, LEVELS[level]),
            ` ${kind}, sentence ${count(place + 1)}, `,
            make("span", { class: "nowrap" }, `support ${support}`)),
          make("div", { class: "text", dir: "auto" },
            shownMarks(marked(cut(points(claim), 0, LONGEST), mark, ""))),
          remarks.length
            ? make("ul", { class: "differences" },
              remarks.map((remark) => make("li", {}, make("bdi", {}, visible(remark)))))
            : null),
        make("div", { class: "nearest" }, part
          ? [
            make("p", { class: "pair-head" }, "nearest passage: ",
              anchor ? make("a", { href: `#${anchor}` }, where) : where),
            make("div", { class: "text", dir: "auto" }, shownPassage(part, other)),
          ]
          : make("p", { class: "none" }, "No context shares its content words.")));
    };
  const unsupported = (kind, side, told, sentences, text, contexts, anchors) => {
    if (!told) return null;
    const [number, ...first] = told;
    const head = kind === "answer" ? "Answer sentences that the contexts do not support"
      : "Ground truth sentences that the contexts do not cover";
    return make("div", { class: "unsupported-sentences" },
      make("h3", {}, `${head} `,
        make("small", {}, `${count(number)} of ${count(sentences.length)}`)),
      first.map(pair(kind, side, sentences, text, contexts, anchors)),
      number > first.length
        ? make("p", { class: "hint" },
          `${count(number - first.length)} more, underlined in the text below`)
        : null);
  };

  // ------------------------------------------------------------------------------------ metrics
  const named = (fields) => make("dl", { class: "named" }, fields.map(([name, value]) =>
    make("div", {}, make("dt", {}, make("bdi", {}, visible(name))),
      make("dd", { dir: "auto" }, clip(value)))));
  const findings = (summary, found, isOpen) => make("details", { open: isOpen ? "" : null },
    make("summary", {}, summary),
    make("ul", { class: "findings" }, found.map(([passed, fields]) => make("li", {},
      passed === null ? null
        : make("span", { class: passed ? "good" : "bad" },
          passed ? "\u2713 passed" : "\u2717 failed"),
      named(fields)))));
  const judgement = ([judge, native, isFlaky, failed, message, verdicts]) =>
    make("div", { class: "judged" },
      judge === null ? null
        : make("p", {}, `judge ${judge}`, native === null ? "" : `, native ${native}`,
          isFlaky
            ? [", ", make("span", { class: "bad" }, "flaky: repeats disagree on pass or fail")]
            : null),
      failed ? make("p", { class: "bad" }, "the judge failed: ", clip(message))
        : message === "" ? null : make("p", {}, clip(message)),
      verdicts.length
        ? findings(plural(verdicts.length, "judge verdict"), verdicts, false) : null);
  const reason = ([name, shown, passed, notes, explanation, signals, , extra]) => {
    const { moreSignals, judged, failed = [], others = [], moreFindings } = extra ?? {};
    const [sign, colour] = passed === null ? ["", "plain"]
      : passed ? ["\u2713 ", "good"] : ["\u2717 ", "bad"];
    return make("div", { class: "reason" },
      make("p", { class: "reason-head" }, make("b", {}, visible(name)), " ",
        make("span", { class: colour }, sign + shown),
        notes.map((note) => [" ", make("small", {}, visible(note))])),
      explanation === "" ? null : make("p", { dir: "auto" }, clip(explanation)),
      signals.length
        ? make("ul", { class: "signals" },
          signals.map(([severity, message, evidence]) => make("li", { class: plain(severity) },
            make("b", {}, visible(severity)), " ", make("bdi", {}, clip(message)),
            evidence === null ? null : [" ", make("q", { dir: "auto" }, visible(evidence))])),
          moreSignals ? make("li", {}, `${count(moreSignals)} more`) : null)
        : null,
      judged ? judgement(judged) : null,
      failed.length ? findings(plural(failed.length, "failed check"), failed, true) : null,
      others.length
        ? findings(plural(others.length, failed.length ? "other check" : "check"), others, false)
        : null,
      moreFindings
        ? make("p", { class: "hint" }, plural(moreFindings, "more check")) : null);
  };

  // --------------------------------------------------------------------------------- opened rows
  const opened = (place, data) => {
    const [givenQuestion, givenAnswer, givenTruth, otherTruths, numberOfContexts, contexts,
      answers, truths, [toldAnswer, toldTruth], refusal, found, metadata, fields,
      oldAnswer] = data;
    const [question, answer, truth] = [givenQuestion, givenAnswer, givenTruth]
      .map((text, each) => text ?? texts[place][each] ?? "");
    const sides = { a: answers, t: truths };
    const anchors = {};
    const prefix = `row-${columns.number[place]}-chunk`;
    const chunks = contexts.map((each, number) => context(each, number, `${prefix}-${number}`,
      sides, anchors, found.filter((one) => one[6] && number < one[6].length)
        .map((one) => [one[0], one[6][number]])));
    for (const [side, sentences] of Object.entries(sides)) {
      for (const [each, [, , , , chunk]] of sentences.entries()) {
        if (chunk !== null && chunk >= 0 && chunk < chunks.length) {
          anchors[side + each] ??= `${prefix}-${chunk}`;
        }
      }
    }
    const textOf = (text) => (typeof text === "string" ? text : text[0]);
    const failed = found.filter((one) => one[2] === false);
    const rest = found.filter((one) => one[2] !== false);
    const covered = truths.filter(([, , , level]) => level === 0).length;
    const more = numberOfContexts - chunks.length;
    return make("div", { class: "opened" },
      failed.length
        ? make("div", { class: "failing" },
          make("h3", {}, failed.length === 1 ? "Failing metric" : "Failing metrics"),
          failed.map(reason))
        : null,
      unsupported("answer", "a", toldAnswer, answers, textOf(answer), contexts, anchors),
      unsupported("ground truth", "t", toldTruth, truths, textOf(truth), contexts, anchors),
      make("div", { class: "texts" },
        make("h3", {}, "Question"),
        passage(question, [], "q", anchors, "The sample has no question."),
        make("h3", {}, "Answer", refusal
          ? [" ", make("small", {}, "declines to answer",
            refusal > 1 ? ", although relevant contexts were retrieved" : "")]
          : null),
        passage(answer, answers, "a", anchors, "The sample has no answer."),
        oldAnswer === null ? null : [
          make("h3", {}, "Answer in the baseline"),
          passage(oldAnswer, [], "q", anchors, "The sample had no answer."),
        ],
        truth.length
          ? [
            make("h3", {}, "Ground truth", truths.length
              ? [" ", make("small", {}, `${covered} of ${truths.length} ` +
                `sentence${truths.length === 1 ? "" : "s"} covered`)]
              : null),
            passage(truth, truths, "t", anchors, ""),
            otherTruths.map((other) => make("div", { class: "text other", dir: "auto" },
              make("small", {}, "or: "), clip(other))),
          ]
          : null,
        make("h3", {}, "Contexts ", make("small", {}, count(numberOfContexts))),
        chunks.length ? chunks : make("p", { class: "none" }, "The sample has no contexts."),
        more ? make("p", { class: "hint" }, plural(more, "more context")) : null),
      make("div", { class: "reasons" },
        rest.length
          ? [make("h3", {}, failed.length ? "Other metrics" : "Metrics"), rest.map(reason)] : null,
        metadata.length ? [make("h3", {}, "Metadata"), named(metadata)] : null,
        fields.length ? [make("h3", {}, "Other fields"), named(fields)] : null));
  };
  return { body, opened, searched };
};
