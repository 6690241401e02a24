import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { isMetadataText, MAX_METADATA_BYTES, readSamlMetadata } from '../../src/providers/saml-metadata.ts'
import { anyCodePoint } from '../support/code-points.ts'
import { webUrls } from '../support/web-urls.ts'
import { cpuStopwatch } from '../support/cpu-time.ts'

const XMLNS = 'xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata"'
const wrap = (inside: string, attributes = 'entityID="https://idp.example"'): string =>
  `<md:EntityDescriptor ${XMLNS} ${attributes}>${inside}</md:EntityDescriptor>`

describe('reading SAML metadata', () => {
  const readable: readonly { name: string; text: string; want?: string }[] = [
    { name: 'an element alone', text: wrap('') },
    {
      name: 'an element that is closed at once',
      text: `<md:EntityDescriptor ${XMLNS} entityID="https://idp.example"/>`,
    },
    {
      name: 'the default namespace',
      text: '<EntityDescriptor entityID="https://idp.example" xmlns="urn:oasis:names:tc:SAML:2.0:metadata"></EntityDescriptor>',
    },
    {
      name: 'a declaration and another prefix',
      text: `<?xml version="1.0" encoding="UTF-8"?>\n<m:EntityDescriptor xmlns:m='urn:oasis:names:tc:SAML:2.0:metadata' entityID='https://idp.example'/>\n`,
    },
    {
      name: 'another prefix without a declaration, as pysaml2 writes it',
      text: '<ns0:EntityDescriptor xmlns:ns0="urn:oasis:names:tc:SAML:2.0:metadata" entityID="https://idp.example"/>',
    },
    {
      name: 'comments, instructions and sections',
      text: `<?xml version="1.0"?><!-- a > b -->${wrap('<!--x--><?a b?><![CDATA[<a>&]] >]]>')}<!-- -->`,
    },
    { name: 'a comment before it, without a declaration', text: `<!-- from the provider -->\n${wrap('')}` },
    {
      name: 'elements within',
      text: wrap('<md:IDPSSODescriptor a="1" b=\'>\'><x> text &amp; &#13;&#x41; </x><y/></md:IDPSSODescriptor>'),
    },
    {
      name: 'entities in the id',
      text: wrap('', 'entityID="a&amp;b&lt;&gt;&quot;&apos;&#x41;&#66;"'),
      want: 'a&b<>"\'AB',
    },
    { name: 'an id that is not an address', text: wrap('', 'entityID="urn:idp:one"'), want: 'urn:idp:one' },
  ]
  for (const { name, text, want = 'https://idp.example' } of readable) {
    it(`takes ${name}`, () => assert.deepEqual(readSamlMetadata(text), { outcome: 'readable', entityId: want }))
  }

  const deep = (levels: number): string => wrap('<a>'.repeat(levels) + '</a>'.repeat(levels))
  const unreadable: readonly { name: string; text: string; problem: RegExp }[] = [
    { name: 'nothing', text: '', problem: /begin/ },
    { name: 'blank space before it', text: ` ${wrap('')}`, problem: /begin/ },
    { name: 'another element', text: '<html/>', problem: /begin/ },
    { name: 'another element after a comment', text: '<!-- a --><html/>', problem: /not a SAML/ },
    { name: 'another element after a declaration', text: '<?xml version="1.0"?><html/>', problem: /not a SAML/ },
    {
      name: 'a list of entities',
      text: `<?xml version="1.0"?><md:EntitiesDescriptor ${XMLNS}>${wrap('')}</md:EntitiesDescriptor>`,
      problem: /it is not a SAML EntityDescriptor/,
    },
    { name: 'an entity in an entity', text: wrap(wrap('')), problem: /more than one entity/ },
    { name: 'two elements', text: wrap('') + wrap(''), problem: /documents may contain only one root/ },
    { name: 'text around it', text: `${wrap('')}x`, problem: /well-formed/ },
    { name: 'a document type', text: `<?xml version="1.0"?><!DOCTYPE a>${wrap('')}`, problem: /document type/ },
    {
      name: 'a document type within',
      text: wrap('<!DOCTYPE a [<!ENTITY b "c">]>'),
      problem: /inappropriately located doctype declaration/,
    },
    { name: 'its own entity', text: wrap('&other;'), problem: /entity/ },
    { name: 'its own entity in the id', text: wrap('', 'entityID="&xxe;"'), problem: /entity/ },
    { name: 'an entity that does not end', text: wrap('a & b'), problem: /unclosed tag/ },
    { name: 'a number that is not a character', text: wrap('&#0;'), problem: /entity/ },
    { name: 'half a pair as a number', text: wrap('&#xD800;'), problem: /entity/ },
    { name: 'no id', text: wrap('', ''), problem: /no entityID/ },
    { name: 'an empty id', text: wrap('', 'entityID=""'), problem: /no entityID/ },
    { name: 'an id in another namespace', text: wrap('', 'md:entityID="x"'), problem: /no entityID/ },
    { name: 'an id with white space', text: wrap('', 'entityID="a&#10;b"'), problem: /white space/ },
    { name: 'an id that is too long', text: wrap('', `entityID="${'x'.repeat(1025)}"`), problem: /too long/ },
    { name: 'an id twice', text: wrap('', 'entityID="a" entityID="b"'), problem: /duplicate attribute/ },
    { name: 'no namespace', text: '<EntityDescriptor entityID="x"/>', problem: /not a SAML/ },
    { name: 'another namespace', text: '<EntityDescriptor xmlns="urn:other" entityID="x"/>', problem: /not a SAML/ },
    {
      name: 'the namespace of another prefix',
      text: `<EntityDescriptor ${XMLNS} entityID="x"/>`,
      problem: /not a SAML/,
    },
    { name: 'an element that does not end', text: wrap('').slice(0, -5), problem: /well-formed/ },
    {
      name: 'an element that is cut off',
      text: `<md:EntityDescriptor ${XMLNS} entityID="x">`,
      problem: /unclosed tag/,
    },
    { name: 'tags that do not match', text: wrap('<a></b>'), problem: /unexpected close tag/ },
    { name: 'an end without a start', text: `${wrap('')}</a>`, problem: /match/ },
    { name: 'an attribute without quotes', text: wrap('<a b=c/>'), problem: /well-formed/ },
    { name: 'an attribute with a tag', text: wrap('<a b="<"/>'), problem: /well-formed/ },
    { name: 'attributes without a gap', text: wrap('<a b="1"c="2"/>'), problem: /well-formed/ },
    { name: 'a comment that does not end', text: wrap('<!-- '), problem: /unclosed tag/ },
    { name: 'a comment with a comment', text: wrap('<!-- a -- b -->'), problem: /well-formed/ },
    { name: 'a section that does not end', text: wrap('<![CDATA[ '), problem: /unclosed tag/ },
    { name: 'the end of a section alone', text: wrap(']]>'), problem: /well-formed/ },
    {
      name: 'a second declaration',
      text: `<?xml version="1.0"?><?xml version="1.0"?>${wrap('')}`,
      problem: /an XML declaration must be at the start of the document/,
    },
    { name: 'a control character', text: wrap('\u0001'), problem: /disallowed character/ },
    { name: 'a NUL', text: wrap('\0'), problem: /disallowed character/ },
    { name: 'half a surrogate pair', text: wrap('\ud800'), problem: /surrogate/ },
    { name: 'too many levels', text: deep(64), problem: /deeply/ },
    { name: 'larger than 256 KiB', text: wrap('x'.repeat(MAX_METADATA_BYTES)), problem: /larger than 256 KiB/ },
    {
      name: 'larger than 256 KiB of few characters',
      text: wrap('\u20ac'.repeat(MAX_METADATA_BYTES / 2)),
      problem: /larger than 256 KiB/,
    },
    { name: 'too many elements', text: wrap('<a/>'.repeat(5000)), problem: /too many elements/ },
    { name: 'too many comments', text: wrap('<!---->'.repeat(5000)), problem: /too many elements/ },
    { name: 'too many instructions', text: wrap('<?a?>'.repeat(5000)), problem: /too many elements/ },
    { name: 'too many sections', text: wrap('<![CDATA[]]>'.repeat(5000)), problem: /too many elements/ },
    { name: 'too many line breaks', text: wrap('\n'.repeat(140_000)), problem: /too long to read/ },
    {
      name: 'too many attributes',
      text: wrap(`<a ${Array.from({ length: 101 }, (_, place) => `a${place}=""`).join(' ')}/>`),
      problem: /too many/,
    },
    {
      name: 'too many attributes of all elements together',
      text: wrap('<a b="" c="" d=""/>'.repeat(3500)),
      problem: /too many attributes/,
    },
  ]
  for (const { name, text, problem } of unreadable) {
    it(`refuses ${name}`, () => {
      const metadata = readSamlMetadata(text)
      assert.equal(metadata.outcome, 'unreadable')
      assert.match(metadata.outcome === 'unreadable' ? metadata.problem : '', problem)
    })
  }

  it('reads large text once, however many checks of a request look at it', () => {
    const [first, second] = ['one', 'two'].map(text => wrap(`<!--${text}-->`.padEnd(100_000)))
    const metadata = readSamlMetadata(first ?? '')
    assert.equal(metadata.outcome, 'readable')
    assert.equal(readSamlMetadata(`${first?.slice(0, 9)}${first?.slice(9)}`), metadata)
    assert.notEqual(readSamlMetadata(second ?? ''), metadata)
    assert.deepEqual(readSamlMetadata(first ?? ''), metadata)
  })

  it('takes time by the length of the text, whatever it is made of', () => {
    const size = 200_000
    const parts = [
      '<a',
      '<!--',
      '&',
      '&#',
      '<a b="',
      ' ',
      'a:',
      '<![CDATA[',
      '</a',
      '<?a ',
      '\n',
      '-',
      ']',
      '<a>',
      '<a/>',
      'a=""',
    ]
    const elapsed = cpuStopwatch()
    for (const part of parts) {
      const many = part.repeat(size / part.length)
      for (const text of [wrap(many), wrap('', many), `<md:EntityDescriptor ${many}`, `<?xml ${many}`]) {
        readSamlMetadata(text)
      }
    }
    // Sixty-four texts of 200 kB; were one of them quadratic, it alone would take longer.
    assert.ok(elapsed() < 20_000, String(elapsed()))
  })

  it('never throws, and reads every entity id as it was written', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCodePoint }), text => {
        readSamlMetadata(text)
        readSamlMetadata(wrap(text))
        readSamlMetadata(wrap('', text))
      }),
    )
    const escape = (text: string): string =>
      text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
    fc.assert(
      fc.property(webUrls, entityId => {
        assert.deepEqual(readSamlMetadata(wrap('', `entityID="${escape(entityId)}"`)), {
          outcome: 'readable',
          entityId,
        })
      }),
    )
  })

  it('distinguishes a document from an address', () => {
    for (const text of [
      '<?xml version="1.0"?>',
      '<EntityDescriptor/>',
      '<md:EntityDescriptor x',
      '<ns0:EntityDescriptor x',
    ]) {
      assert.equal(isMetadataText(text), true, text)
    }
    for (const text of [
      'https://idp.example',
      '<?xml-stylesheet?>',
      '<EntityDescriptors>',
      '<a:b:EntityDescriptor>',
      '<a/>',
      '',
    ]) {
      assert.equal(isMetadataText(text), false, text)
    }
  })
})
