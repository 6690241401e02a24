import type { AttackClass, Means } from '../attack.ts'
import { genuine, replaced } from '../forging.ts'

const withDoctype =
  (doctype: string, name = 'mallory') =>
  (means: Means) =>
    doctype + replaced(genuine(means), '>mallory<', `>${name}<`)

const billion = `<!DOCTYPE x [<!ENTITY a0 "ha">${Array.from({ length: 30 }, (_, index) => `<!ENTITY a${index + 1} "&a${index};&a${index};&a${index};&a${index};">`).join('')}]>`

/** Document types can change content, read files, send requests and expand endlessly. */
export const entities: AttackClass = {
  name: 'document types and entities',
  sources: ['CVE-2003-1564 (billion laughs)', 'CWE-611 (XXE)', 'CWE-776', 'OWASP XXE Prevention Cheat Sheet'],
  controls: [
    { name: 'an XML declaration', forge: means => `<?xml version="1.0" encoding="UTF-8"?>\n${genuine(means)}` },
    {
      name: 'character references and predefined entities',
      forge: means => replaced(genuine(means, { nameId: 'a & b' }), '>a &amp; b<', '>&#x61; &#38; b<'),
    },
  ],
  attacks: [
    { name: 'an empty document type', reasons: ['document-type'], forge: withDoctype('<!DOCTYPE x>') },
    { name: 'billion laughs', reasons: ['document-type'], forge: withDoctype(billion, '&a30;') },
    {
      name: 'one long entity many times',
      reasons: ['document-type'],
      forge: withDoctype(`<!DOCTYPE x [<!ENTITY a "${'a'.repeat(20_000)}">]>`, '&a;'.repeat(20_000)),
    },
    {
      name: 'a recursive entity',
      reasons: ['document-type'],
      forge: withDoctype('<!DOCTYPE x [<!ENTITY a "&a;">]>', '&a;'),
    },
    {
      name: 'a file',
      reasons: ['bad-signature', 'document-type'],
      forge: withDoctype('<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>', '&a;'),
    },
    {
      name: 'a URL',
      reasons: ['bad-signature', 'document-type'],
      forge: withDoctype('<!DOCTYPE x [<!ENTITY a SYSTEM "http://127.0.0.1:9/">]>', '&a;'),
    },
    {
      name: 'a parameter entity',
      reasons: ['document-type'],
      forge: withDoctype('<!DOCTYPE x [<!ENTITY % a SYSTEM "http://127.0.0.1:9/x.dtd"> %a;]>'),
    },
    {
      name: 'an external subset',
      reasons: ['document-type'],
      forge: withDoctype('<!DOCTYPE x SYSTEM "http://127.0.0.1:9/x.dtd">'),
    },
    {
      name: 'an entity with the victim’s name',
      reasons: ['document-type'],
      forge: withDoctype('<!DOCTYPE x [<!ENTITY a "victim">]>', '&a;'),
    },
    {
      name: 'a default attribute value',
      source: 'PortSwigger, The Fragile Lock, 2025',
      reasons: ['document-type'],
      forge: withDoctype('<!DOCTYPE x [<!ATTLIST saml:NameID Format CDATA "x">]>'),
    },
    {
      name: 'a document type after a comment',
      reasons: ['comment'],
      forge: withDoctype('<!-- --><!DOCTYPE x [<!ENTITY a "victim">]>', '&a;'),
    },
    {
      name: 'a document type in UTF-16',
      reasons: ['not-xml'],
      forge: means => Buffer.from(`\uFEFF<!DOCTYPE x>${genuine(means)}`, 'utf16le'),
    },
    { name: 'an undefined entity', reasons: ['not-xml'], forge: withDoctype('', '&victim;') },
    {
      name: 'an HTML entity',
      reasons: ['not-xml'],
      forge: withDoctype('', 'mallory&nbsp;'),
    },
    {
      name: 'XInclude',
      reasons: ['bad-signature'],
      forge: withDoctype(
        '',
        '<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" parse="text" href="file:///etc/hostname"/>',
      ),
    },
    {
      name: 'a stylesheet',
      reasons: ['not-xml'],
      forge: withDoctype('<?xml-stylesheet href="http://127.0.0.1:9/x.xsl" type="text/xsl"?>'),
    },
  ],
}
