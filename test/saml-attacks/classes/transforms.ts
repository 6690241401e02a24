import { SAML } from '../../support/saml/saml-xml.ts'
import type { AttackClass, Means } from '../attack.ts'
import {
  canonical,
  digestOf,
  genuine,
  handSigned,
  idOf,
  messageOf,
  referenceTo,
  transform,
  USUAL_TRANSFORMS,
  victimAssertion,
} from '../forging.ts'

/** Signed by the provider's own key, with these transforms over the usual bytes. */
const by = (transforms: string, digest?: string) => (means: Means) => {
  const xml = victimAssertion(means)
  const text = canonical(xml)
  const reference = referenceTo(`#${idOf(xml)}`, text, { transforms, digest: digest ?? digestOf(text) })
  return messageOf(means, handSigned(xml, means.idp.key, {}, reference))
}

const XSLT = `<xsl:stylesheet xmlns:xsl="http://www.w3.org/1999/XSL/Transform" version="1.0"><xsl:template match="/"><xsl:copy-of select="document('http://127.0.0.1:9/')"></xsl:copy-of></xsl:template></xsl:stylesheet>`
const enveloped = transform(SAML.enveloped)
const exclusive = transform(SAML.exclusive)

/** Transforms decide which bytes are signed; all but the two required ones can hide content. */
export const transforms: AttackClass = {
  name: 'transforms',
  sources: [
    'Hill, Attacking XML Security, Black Hat 2007',
    'CVE-2022-34169',
    'SAML Core 5.4.4',
    'W3C XML Signature Best Practices',
  ],
  controls: [
    { name: 'the two transforms', forge: genuine },
    {
      name: 'the two transforms, created by the test',
      forge: means => messageOf(means, handSigned(means.idp.assertion(means.parts), means.idp.key)),
    },
  ],
  attacks: [
    {
      name: 'XSLT',
      reasons: ['algorithm'],
      forge: by(enveloped + transform('http://www.w3.org/TR/1999/REC-xslt-19991116', XSLT)),
    },
    {
      name: 'XPath that selects nothing',
      reasons: ['algorithm'],
      forge: by(
        enveloped +
          transform('http://www.w3.org/TR/1999/REC-xpath-19991116', '<ds:XPath>false()</ds:XPath>') +
          exclusive,
        digestOf(''),
      ),
    },
    {
      name: 'XPath Filter 2.0',
      reasons: ['algorithm'],
      forge: by(
        enveloped +
          transform(
            'http://www.w3.org/2002/06/xmldsig-filter2',
            '<f:XPath xmlns:f="http://www.w3.org/2002/06/xmldsig-filter2" Filter="subtract">//*</f:XPath>',
          ) +
          exclusive,
      ),
    },
    {
      name: 'base64',
      reasons: ['algorithm'],
      forge: by(enveloped + transform('http://www.w3.org/2000/09/xmldsig#base64')),
    },
    {
      name: 'exclusive canonicalization with comments',
      reasons: ['algorithm'],
      forge: by(enveloped + transform(`${SAML.exclusive}WithComments`)),
    },
    {
      name: 'inclusive canonicalization',
      reasons: ['algorithm'],
      forge: by(enveloped + transform('http://www.w3.org/TR/2001/REC-xml-c14n-20010315')),
    },
    { name: 'none', reasons: ['algorithm'], forge: by('') },
    { name: 'only the enveloped signature', reasons: ['algorithm'], forge: by(enveloped) },
    { name: 'only canonicalization', reasons: ['algorithm'], forge: by(exclusive) },
    { name: 'the two in another order', reasons: ['algorithm'], forge: by(exclusive + enveloped) },
    { name: 'the enveloped signature twice', reasons: ['algorithm'], forge: by(enveloped + enveloped + exclusive) },
    { name: 'a thousand of them', reasons: ['too-large'], forge: by(USUAL_TRANSFORMS + exclusive.repeat(1000)) },
    { name: 'an unknown transform', reasons: ['algorithm'], forge: by(`${USUAL_TRANSFORMS}${transform('urn:none')}`) },
    {
      name: 'a transform without Algorithm',
      reasons: ['algorithm'],
      forge: by(`${USUAL_TRANSFORMS}<ds:Transform></ds:Transform>`),
    },
    {
      name: 'a transform named like an inherited member',
      reasons: ['algorithm'],
      forge: by(enveloped + transform('constructor')),
    },
    {
      name: 'the decryption transform',
      reasons: ['algorithm'],
      forge: by(transform('http://www.w3.org/2002/07/decrypt#XML') + USUAL_TRANSFORMS),
    },
  ],
}
