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

describe('readSamlMetadata', () => {
  const readable: readonly { name: string; text: string; want?: string }[] = [
    { name: 'a single element', text: wrap('') },
    {
      name: 'a self-closing element',
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
      name: 'another prefix without a declaration, like pysaml2',
      text: '<ns0:EntityDescriptor xmlns:ns0="urn:oasis:names:tc:SAML:2.0:metadata" entityID="https://idp.example"/>',
    },
    {
      name: 'comments, processing instructions and CDATA',
      text: `<?xml version="1.0"?><!-- a > b -->${wrap('<!--x--><?a b?><![CDATA[<a>&]] >]]>')}<!-- -->`,
    },
    { name: 'a leading comment without a declaration', text: `<!-- from the provider -->\n${wrap('')}` },
    {
      name: 'nested elements',
      text: wrap('<md:IDPSSODescriptor a="1" b=\'>\'><x> text &amp; &#13;&#x41; </x><y/></md:IDPSSODescriptor>'),
    },
    {
      name: 'entities in the id',
      text: wrap('', 'entityID="a&amp;b&lt;&gt;&quot;&apos;&#x41;&#66;"'),
      want: 'a&b<>"\'AB',
    },
    { name: 'an id that is not a URL', text: wrap('', 'entityID="urn:idp:one"'), want: 'urn:idp:one' },
  ]
  for (const { name, text, want = 'https://idp.example' } of readable) {
    it(`accepts ${name}`, () => assert.deepEqual(readSamlMetadata(text), { outcome: 'readable', entityId: want }))
  }

  const deep = (levels: number): string => wrap('<a>'.repeat(levels) + '</a>'.repeat(levels))
  const unreadable: readonly { name: string; text: string; problem: RegExp }[] = [
    { name: 'empty text', text: '', problem: /begin/ },
    { name: 'leading white space', text: ` ${wrap('')}`, problem: /begin/ },
    { name: 'another element', text: '<html/>', problem: /begin/ },
    { name: 'another element after a comment', text: '<!-- a --><html/>', problem: /not a SAML/ },
    { name: 'another element after a declaration', text: '<?xml version="1.0"?><html/>', problem: /not a SAML/ },
    {
      name: 'a list of entities',
      text: `<?xml version="1.0"?><md:EntitiesDescriptor ${XMLNS}>${wrap('')}</md:EntitiesDescriptor>`,
      problem: /it is not a SAML EntityDescriptor/,
    },
    { name: 'a nested entity', text: wrap(wrap('')), problem: /more than one entity/ },
    { name: 'two root elements', text: wrap('') + wrap(''), problem: /documents may contain only one root/ },
    { name: 'trailing text', text: `${wrap('')}x`, problem: /well-formed/ },
    { name: 'a DOCTYPE', text: `<?xml version="1.0"?><!DOCTYPE a>${wrap('')}`, problem: /document type/ },
    {
      name: 'a nested DOCTYPE',
      text: wrap('<!DOCTYPE a [<!ENTITY b "c">]>'),
      problem: /inappropriately located doctype declaration/,
    },
    { name: 'a custom entity', text: wrap('&other;'), problem: /entity/ },
    { name: 'a custom entity in the id', text: wrap('', 'entityID="&xxe;"'), problem: /entity/ },
    { name: 'an unterminated entity', text: wrap('a & b'), problem: /unclosed tag/ },
    { name: 'an invalid character reference', text: wrap('&#0;'), problem: /entity/ },
    { name: 'a surrogate as a character reference', text: wrap('&#xD800;'), problem: /entity/ },
    { name: 'no id', text: wrap('', ''), problem: /no entityID/ },
    { name: 'an empty id', text: wrap('', 'entityID=""'), problem: /no entityID/ },
    { name: 'an id in another namespace', text: wrap('', 'md:entityID="x"'), problem: /no entityID/ },
    { name: 'an id with white space', text: wrap('', 'entityID="a&#10;b"'), problem: /white space/ },
    { name: 'an id that is too long', text: wrap('', `entityID="${'x'.repeat(1025)}"`), problem: /too long/ },
    { name: 'a repeated id', text: wrap('', 'entityID="a" entityID="b"'), problem: /duplicate attribute/ },
    { name: 'no namespace', text: '<EntityDescriptor entityID="x"/>', problem: /not a SAML/ },
    { name: 'another namespace', text: '<EntityDescriptor xmlns="urn:other" entityID="x"/>', problem: /not a SAML/ },
    {
      name: 'a namespace bound to another prefix',
      text: `<EntityDescriptor ${XMLNS} entityID="x"/>`,
      problem: /not a SAML/,
    },
    { name: 'an unterminated end tag', text: wrap('').slice(0, -5), problem: /well-formed/ },
    {
      name: 'an unclosed element',
      text: `<md:EntityDescriptor ${XMLNS} entityID="x">`,
      problem: /unclosed tag/,
    },
    { name: 'mismatched tags', text: wrap('<a></b>'), problem: /unexpected close tag/ },
    { name: 'an end tag without a start tag', text: `${wrap('')}</a>`, problem: /match/ },
    { name: 'an attribute without quotes', text: wrap('<a b=c/>'), problem: /well-formed/ },
    { name: 'an attribute with <', text: wrap('<a b="<"/>'), problem: /well-formed/ },
    { name: 'attributes without white space', text: wrap('<a b="1"c="2"/>'), problem: /well-formed/ },
    { name: 'an unterminated comment', text: wrap('<!-- '), problem: /unclosed tag/ },
    { name: 'a comment with --', text: wrap('<!-- a -- b -->'), problem: /well-formed/ },
    { name: 'an unterminated CDATA section', text: wrap('<![CDATA[ '), problem: /unclosed tag/ },
    { name: ']]> in text', text: wrap(']]>'), problem: /well-formed/ },
    {
      name: 'a second declaration',
      text: `<?xml version="1.0"?><?xml version="1.0"?>${wrap('')}`,
      problem: /an XML declaration must be at the start of the document/,
    },
    { name: 'a control character', text: wrap('\u0001'), problem: /disallowed character/ },
    { name: 'a NUL character', text: wrap('\0'), problem: /disallowed character/ },
    { name: 'a lone surrogate', text: wrap('\ud800'), problem: /surrogate/ },
    { name: 'deep nesting', text: deep(64), problem: /deeply/ },
    { name: 'text larger than 256 KiB', text: wrap('x'.repeat(MAX_METADATA_BYTES)), problem: /larger than 256 KiB/ },
    {
      name: 'multi-byte text larger than 256 KiB',
      text: wrap('\u20ac'.repeat(MAX_METADATA_BYTES / 2)),
      problem: /larger than 256 KiB/,
    },
    { name: 'too many elements', text: wrap('<a/>'.repeat(5000)), problem: /too many elements/ },
    { name: 'too many comments', text: wrap('<!---->'.repeat(5000)), problem: /too many elements/ },
    { name: 'too many processing instructions', text: wrap('<?a?>'.repeat(5000)), problem: /too many elements/ },
    { name: 'too many CDATA sections', text: wrap('<![CDATA[]]>'.repeat(5000)), problem: /too many elements/ },
    { name: 'too many line breaks', text: wrap('\n'.repeat(140_000)), problem: /too long to read/ },
    {
      name: 'too many attributes',
      text: wrap(`<a ${Array.from({ length: 101 }, (_, place) => `a${place}=""`).join(' ')}/>`),
      problem: /too many/,
    },
    {
      name: 'too many attributes in total',
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

  it('caches the result of the last large text', () => {
    const [first, second] = ['one', 'two'].map(text => wrap(`<!--${text}-->`.padEnd(100_000)))
    const metadata = readSamlMetadata(first ?? '')
    assert.equal(metadata.outcome, 'readable')
    assert.equal(readSamlMetadata(`${first?.slice(0, 9)}${first?.slice(9)}`), metadata)
    assert.notEqual(readSamlMetadata(second ?? ''), metadata)
    assert.deepEqual(readSamlMetadata(first ?? ''), metadata)
  })

  it('takes linear time', () => {
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
    // 64 texts of 200 kB; a single quadratic one would take longer.
    assert.ok(elapsed() < 20_000, String(elapsed()))
  })

  it('never throws, and returns any entity id unchanged', () => {
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

  it('distinguishes a document from a URL', () => {
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
