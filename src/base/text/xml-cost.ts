// What it costs to parse the text of an XML document: some characters take far longer than others.

/** Amounts that take as long as one element of a signed message. */
const CHARACTERS_PER_NODE = 360
/** Character references: `&amp;` as well as `&#65;`. */
const REFERENCES_PER_NODE = 45
/** White space other than spaces, and the brackets that may end a CDATA section. */
const SLOW_CHARACTERS_PER_NODE = 90

/** The number of elements that take as long as the text, without its markup. */
export function nodesOfText(text: string): number {
  let references = 0
  let slow = 0
  for (let index = 0; index < text.length; index += 1) {
    const character = text[index]
    if (character === '&') references += 1
    else if (character === '\n' || character === '\r' || character === '\t' || character === ']') slow += 1
  }
  return (
    Math.floor(text.length / CHARACTERS_PER_NODE) +
    Math.floor(references / REFERENCES_PER_NODE) +
    Math.floor(slow / SLOW_CHARACTERS_PER_NODE)
  )
}
