// Changes to SAML messages, as an attacker with a genuine one and no key makes them: by bytes, and by elements.

/** A source of numbers from 0 up to, but not including, the bound. */
export type Pick = (bound: number) => number

/** Texts with meaning for XML parsers. */
const PIECES = [
  '<!-- -->',
  '<!DOCTYPE a [<!ENTITY b "c">]>',
  '<?a b?>',
  '<![CDATA[x]]>',
  '&#x61;',
  '&amp;',
  ' xmlns=""',
  ' xmlns:saml=""',
  ' xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion"',
  ' ID="_a"',
  ' xml:id="_a"',
  ' Id="_a"',
  '<saml:NameID>admin</saml:NameID>',
  '<ds:Object/>',
  '<ds:Reference URI=""/>',
  '</saml:Subject>',
  '<saml:Assertion>',
  '\u0000',
  '\r',
  '\u{10FFFF}',
  'admin',
  '"',
  '<',
  '>',
]

/** The element that begins at the place, with everything in it. */
function elementAt(xml: string, at: number): string | undefined {
  const name = /^<([\w:]+)/.exec(xml.slice(at, at + 100))?.[1]
  if (name === undefined) return undefined
  const end = xml.indexOf(`</${name}>`, at)
  return end < 0 ? undefined : xml.slice(at, end + name.length + 3)
}

const elements = (xml: string): readonly { readonly at: number; readonly text: string }[] =>
  [...xml.matchAll(/<[\w:]+/g)].flatMap(({ index }) => {
    const text = elementAt(xml, index)
    return text === undefined ? [] : [{ at: index, text }]
  })

const MUTATIONS: readonly ((xml: string, pick: Pick) => string)[] = [
  // Bytes.
  (xml, pick) => {
    const at = pick(xml.length)
    return xml.slice(0, at) + String.fromCharCode(32 + pick(95)) + xml.slice(at + 1)
  },
  (xml, pick) => {
    const at = pick(xml.length)
    return xml.slice(0, at) + xml.slice(at + 1 + pick(40))
  },
  (xml, pick) => {
    const at = pick(xml.length)
    return xml.slice(0, at) + (PIECES[pick(PIECES.length)] ?? '') + xml.slice(at)
  },
  (xml, pick) => {
    const [from, at] = [pick(xml.length), pick(xml.length)]
    return xml.slice(0, at) + xml.slice(from, from + pick(600)) + xml.slice(at)
  },
  // Elements: one goes, comes twice, changes places with another, or moves into another.
  (xml, pick) => {
    const all = elements(xml)
    const one = all[pick(all.length)]
    return one ? xml.slice(0, one.at) + xml.slice(one.at + one.text.length) : xml
  },
  (xml, pick) => {
    const all = elements(xml)
    const one = all[pick(all.length)]
    const place = all[pick(all.length)]
    return one && place ? xml.slice(0, place.at) + one.text + xml.slice(place.at) : xml
  },
  (xml, pick) => {
    const all = elements(xml)
    const one = all[pick(all.length)]
    const other = all[pick(all.length)]
    if (!one || !other || one.at + one.text.length > other.at) return xml
    const between = xml.slice(one.at + one.text.length, other.at)
    return xml.slice(0, one.at) + other.text + between + one.text + xml.slice(other.at + other.text.length)
  },
  (xml, pick) => {
    const all = elements(xml)
    const one = all[pick(all.length)]
    const place = all[pick(all.length)]
    if (!one || !place) return xml
    const without = xml.slice(0, one.at) + xml.slice(one.at + one.text.length)
    return without.slice(0, place.at) + one.text + without.slice(place.at)
  },
  // A second assertion beside, around or within the genuine one, with another user.
  (xml, pick) => {
    const genuine = elements(xml).find(({ text }) => text.startsWith('<saml:Assertion'))
    if (!genuine) return xml
    const forged = genuine.text
      .replace(/ID="[^"]*"/, pick(2) === 0 ? 'ID="_forged"' : '$&')
      .replace(/>[^<]*<\/saml:NameID>/, '>admin</saml:NameID>')
    const bare = pick(2) === 0 ? forged.replace(/<ds:Signature.*<\/ds:Signature>/s, '') : forged
    const shapes = [
      bare + genuine.text,
      genuine.text + bare,
      bare.replace('<saml:Subject>', `${genuine.text}<saml:Subject>`),
      bare.replace('</saml:Assertion>', `${genuine.text}</saml:Assertion>`),
      bare.replace('</ds:Signature>', `<ds:Object>${genuine.text}</ds:Object></ds:Signature>`),
      genuine.text.replace('</saml:Assertion>', `${bare}</saml:Assertion>`),
    ]
    return xml.slice(0, genuine.at) + (shapes[pick(shapes.length)] ?? '') + xml.slice(genuine.at + genuine.text.length)
  },
  // Names and namespaces.
  (xml, pick) => {
    const words = [...xml.matchAll(/[A-Za-z]{4,}/g)].map(([word]) => word)
    const [one = '', other = ''] = [words[pick(words.length)], words[pick(words.length)]]
    return xml.replaceAll(one, other)
  },
]

/** The message with one to three changes. */
export function mutated(xml: string, pick: Pick): string {
  let text = xml
  for (let left = 1 + pick(3); left > 0; left -= 1) text = MUTATIONS[pick(MUTATIONS.length)]?.(text, pick) ?? text
  return text
}
