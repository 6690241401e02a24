// Metadata in the shapes of products, with keys of the test's own. What a product writes around the few things that a sign-in
// needs is what makes readers fail.
import { SignedXml } from 'xml-crypto'
import { pemBody, SAML } from './saml-xml.ts'
import type { SamlTestKey } from './saml-signing.ts'

const FED = 'http://docs.oasis-open.org/wsfed/federation/200706'
const keyInfo = (key: SamlTestKey): string =>
  `<KeyInfo xmlns="${SAML.signature}"><X509Data><X509Certificate>${pemBody(key.certificate)}</X509Certificate></X509Data></KeyInfo>`
const descriptor = (use: string, key: SamlTestKey): string =>
  `<KeyDescriptor${use === '' ? '' : ` use="${use}"`}>${keyInfo(key)}</KeyDescriptor>`
const endpoint = (name: string, binding: string, location: string, more = ''): string =>
  `<${name} Binding="${binding}" Location="${location}"${more}/>`

/** A document of a product, and its expected content. */
export interface MetadataSample {
  readonly product: string
  readonly entityId: string
  readonly text: string
  readonly keys: readonly SamlTestKey[]
  readonly signOn: { readonly redirect?: string; readonly post?: string; readonly preferred: 'redirect' | 'post' }
  readonly logout?: { readonly redirect?: string; readonly post?: string }
  readonly wantsSignedRequests?: true
}

/** The most common products; `keys` are two signing keys of the provider, and one for other use. */
export function metadataSamples([first, second, encryption]: readonly [
  SamlTestKey,
  SamlTestKey,
  SamlTestKey,
]): readonly MetadataSample[] {
  const tenant = '3f6c1d1e-0000-4000-8000-6dd0c0d51a11'
  const entra = `https://login.microsoftonline.com/${tenant}/saml2`
  const adfs = 'https://adfs.corp.example/adfs/ls/'
  const okta = 'https://corp.okta.example/app/latchkey/exk1/sso/saml'
  const keycloak = 'https://keycloak.example/realms/corp/protocol/saml'
  const ssp = 'https://ssp.example/simplesaml/saml2/idp'
  const shibboleth = 'https://idp.university.example/idp/profile'
  return [
    {
      product: 'Entra ID',
      entityId: `https://sts.windows.net/${tenant}/`,
      keys: [first, second],
      signOn: { redirect: entra, post: entra, preferred: 'redirect' },
      logout: { redirect: entra },
      text: `<?xml version="1.0" encoding="utf-8"?><EntityDescriptor ID="_1c0f" entityID="https://sts.windows.net/${tenant}/" xmlns="${SAML.metadata}"><Signature xmlns="${SAML.signature}"><SignedInfo><CanonicalizationMethod Algorithm="${SAML.exclusive}"/></SignedInfo><SignatureValue>AAAA</SignatureValue>${keyInfo(encryption)}</Signature><RoleDescriptor xsi:type="fed:SecurityTokenServiceType" protocolSupportEnumeration="${FED}" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:fed="${FED}">${descriptor('signing', encryption)}<fed:ClaimTypesOffered><auth:ClaimType Uri="http://schemas.xmlsoap.org/ws/2005/05/identity/claims/name" xmlns:auth="http://docs.oasis-open.org/wsfed/authorization/200706"><auth:DisplayName>Name</auth:DisplayName></auth:ClaimType></fed:ClaimTypesOffered><fed:PassiveRequestorEndpoint><wsa:EndpointReference xmlns:wsa="http://www.w3.org/2005/08/addressing"><wsa:Address>https://login.microsoftonline.com/${tenant}/wsfed</wsa:Address></wsa:EndpointReference></fed:PassiveRequestorEndpoint></RoleDescriptor><RoleDescriptor xsi:type="fed:ApplicationServiceType" protocolSupportEnumeration="${FED}" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:fed="${FED}">${descriptor('signing', encryption)}</RoleDescriptor><IDPSSODescriptor protocolSupportEnumeration="${SAML.protocol}">${descriptor('signing', first)}${descriptor('signing', second)}${endpoint('SingleLogoutService', SAML.redirect, entra)}${endpoint('SingleSignOnService', SAML.redirect, entra)}${endpoint('SingleSignOnService', SAML.post, entra)}</IDPSSODescriptor></EntityDescriptor>`,
    },
    {
      product: 'AD FS',
      entityId: 'http://adfs.corp.example/adfs/services/trust',
      keys: [first],
      signOn: { redirect: adfs, post: adfs, preferred: 'redirect' },
      logout: { redirect: adfs, post: adfs },
      text: `<EntityDescriptor ID="_8d" entityID="http://adfs.corp.example/adfs/services/trust" xmlns="${SAML.metadata}"><RoleDescriptor xsi:type="fed:ApplicationServiceType" protocolSupportEnumeration="http://docs.oasis-open.org/ws-sx/ws-trust/200512 http://schemas.xmlsoap.org/ws/2005/02/trust ${FED}" ServiceDisplayName="Corp" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:fed="${FED}">${descriptor('encryption', encryption)}</RoleDescriptor><SPSSODescriptor WantAssertionsSigned="true" protocolSupportEnumeration="${SAML.protocol}">${descriptor('encryption', encryption)}${descriptor('signing', encryption)}<SingleLogoutService Binding="${SAML.redirect}" Location="https://elsewhere.example/"/><NameIDFormat>${SAML.emailName}</NameIDFormat><AssertionConsumerService Binding="${SAML.post}" Location="${adfs}" index="0" isDefault="true"/></SPSSODescriptor><IDPSSODescriptor protocolSupportEnumeration="${SAML.protocol}">${descriptor('encryption', encryption)}${descriptor('signing', first)}${endpoint('SingleLogoutService', SAML.redirect, adfs)}${endpoint('SingleLogoutService', SAML.post, adfs)}<NameIDFormat>${SAML.emailName}</NameIDFormat><NameIDFormat>${SAML.persistentName}</NameIDFormat>${endpoint('SingleSignOnService', SAML.redirect, adfs)}${endpoint('SingleSignOnService', SAML.post, adfs)}${Array.from({ length: 300 }, (_, place) => `<Attribute Name="http://schemas.example/claims/${place}" NameFormat="urn:oasis:names:tc:SAML:2.0:attrname-format:uri" FriendlyName="Claim ${place}" xmlns="${SAML.assertion}"/>`).join('')}</IDPSSODescriptor><ContactPerson contactType="support"/></EntityDescriptor>`,
    },
    {
      product: 'Okta',
      entityId: 'http://www.okta.com/exk1',
      keys: [first],
      signOn: { redirect: okta, post: okta, preferred: 'post' },
      text: `<?xml version="1.0" encoding="UTF-8"?><md:EntityDescriptor entityID="http://www.okta.com/exk1" xmlns:md="${SAML.metadata}"><md:IDPSSODescriptor WantAuthnRequestsSigned="false" protocolSupportEnumeration="${SAML.protocol}"><md:KeyDescriptor use="signing"><ds:KeyInfo xmlns:ds="${SAML.signature}"><ds:X509Data><ds:X509Certificate>${first.certificate.replace(/-----[^-]+-----/g, '')}</ds:X509Certificate></ds:X509Data></ds:KeyInfo></md:KeyDescriptor><md:NameIDFormat>${SAML.emailName}</md:NameIDFormat><md:SingleSignOnService Binding="${SAML.post}" Location="${okta}"/><md:SingleSignOnService Binding="${SAML.redirect}" Location="${okta}"/></md:IDPSSODescriptor></md:EntityDescriptor>`,
    },
    {
      product: 'Keycloak',
      entityId: 'https://keycloak.example/realms/corp',
      keys: [first],
      signOn: { redirect: keycloak, post: keycloak, preferred: 'post' },
      logout: { redirect: keycloak, post: keycloak },
      wantsSignedRequests: true,
      text: `<md:EntityDescriptor xmlns="${SAML.metadata}" xmlns:md="${SAML.metadata}" xmlns:saml="${SAML.assertion}" xmlns:ds="${SAML.signature}" entityID="https://keycloak.example/realms/corp"><md:IDPSSODescriptor WantAuthnRequestsSigned="true" protocolSupportEnumeration="${SAML.protocol}"><md:KeyDescriptor use="signing"><ds:KeyInfo><ds:KeyName>kid-1</ds:KeyName><ds:X509Data><ds:X509Certificate>${pemBody(first.certificate)}</ds:X509Certificate></ds:X509Data></ds:KeyInfo></md:KeyDescriptor><md:ArtifactResolutionService Binding="urn:oasis:names:tc:SAML:2.0:bindings:SOAP" Location="${keycloak}/resolve" index="0"/><md:SingleLogoutService Binding="${SAML.post}" Location="${keycloak}"/><md:SingleLogoutService Binding="${SAML.redirect}" Location="${keycloak}"/><md:SingleLogoutService Binding="urn:oasis:names:tc:SAML:2.0:bindings:SOAP" Location="${keycloak}"/><md:NameIDFormat>${SAML.persistentName}</md:NameIDFormat><md:SingleSignOnService Binding="${SAML.post}" Location="${keycloak}"/><md:SingleSignOnService Binding="${SAML.redirect}" Location="${keycloak}"/></md:IDPSSODescriptor></md:EntityDescriptor>`,
    },
    {
      product: 'SimpleSAMLphp',
      entityId: `${ssp}/metadata.php`,
      keys: [first],
      signOn: { redirect: `${ssp}/SSOService.php`, preferred: 'redirect' },
      logout: { redirect: `${ssp}/SingleLogoutService.php` },
      text: `<?xml version="1.0"?>\n<md:EntityDescriptor xmlns:md="${SAML.metadata}" xmlns:ds="${SAML.signature}" entityID="${ssp}/metadata.php">\n  <md:IDPSSODescriptor protocolSupportEnumeration="${SAML.protocol}">\n    <md:KeyDescriptor use="signing">\n      <ds:KeyInfo>\n        <ds:X509Data>\n          <ds:X509Certificate>${pemBody(first.certificate)}</ds:X509Certificate>\n        </ds:X509Data>\n      </ds:KeyInfo>\n    </md:KeyDescriptor>\n    <md:KeyDescriptor use="encryption"><ds:KeyInfo><ds:X509Data><ds:X509Certificate>${pemBody(encryption.certificate)}</ds:X509Certificate></ds:X509Data></ds:KeyInfo></md:KeyDescriptor>\n    <md:SingleLogoutService Binding="${SAML.redirect}" Location="${ssp}/SingleLogoutService.php"/>\n    <md:NameIDFormat>${SAML.transientName}</md:NameIDFormat>\n    <md:SingleSignOnService Binding="${SAML.redirect}" Location="${ssp}/SSOService.php"/>\n  </md:IDPSSODescriptor>\n  <md:ContactPerson contactType="technical"><md:GivenName>Administrator</md:GivenName></md:ContactPerson>\n</md:EntityDescriptor>\n`,
    },
    {
      product: 'Shibboleth',
      entityId: 'https://idp.university.example/idp/shibboleth',
      keys: [first, second],
      signOn: { redirect: `${shibboleth}/SAML2/Redirect/SSO`, post: `${shibboleth}/SAML2/POST/SSO`, preferred: 'post' },
      logout: { redirect: `${shibboleth}/SAML2/Redirect/SLO`, post: `${shibboleth}/SAML2/POST/SLO` },
      text: `<?xml version="1.0" encoding="UTF-8"?>\n<!-- metadata -->\n<EntityDescriptor xmlns="${SAML.metadata}" xmlns:ds="${SAML.signature}" xmlns:shibmd="urn:mace:shibboleth:metadata:1.0" xmlns:xml="http://www.w3.org/XML/1998/namespace" xmlns:mdui="urn:oasis:names:tc:SAML:metadata:ui" entityID="https://idp.university.example/idp/shibboleth"><IDPSSODescriptor protocolSupportEnumeration="urn:mace:shibboleth:1.0 urn:oasis:names:tc:SAML:1.1:protocol ${SAML.protocol}"><Extensions><shibmd:Scope regexp="false">university.example</shibmd:Scope><mdui:UIInfo><mdui:DisplayName xml:lang="de">Universität</mdui:DisplayName><mdui:Logo height="80" width="80">data:image/png;base64,${'A'.repeat(100_000)}</mdui:Logo></mdui:UIInfo></Extensions>${descriptor('', first)}${descriptor('signing', second)}${descriptor('encryption', encryption)}${endpoint('SingleLogoutService', SAML.redirect, `${shibboleth}/SAML2/Redirect/SLO`, ` ResponseLocation="${shibboleth}/SAML2/Redirect/SLO/return"`)}${endpoint('SingleLogoutService', SAML.post, `${shibboleth}/SAML2/POST/SLO`)}${endpoint('SingleSignOnService', 'urn:mace:shibboleth:1.0:profiles:AuthnRequest', `${shibboleth}/Shibboleth/SSO`)}${endpoint('SingleSignOnService', SAML.post, `${shibboleth}/SAML2/POST/SSO`)}${endpoint('SingleSignOnService', 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST-SimpleSign', `${shibboleth}/SAML2/POST-SimpleSign/SSO`)}${endpoint('SingleSignOnService', SAML.redirect, `${shibboleth}/SAML2/Redirect/SSO`)}</IDPSSODescriptor><AttributeAuthorityDescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:1.1:protocol">${descriptor('signing', encryption)}</AttributeAuthorityDescriptor></EntityDescriptor>`,
    },
  ]
}

/** Signs the root element, which must have an `ID`: the signature is its first child (SAML Metadata §2.3.2). */
export function signMetadata(xml: string, key: SamlTestKey): string {
  const signer = new SignedXml({
    privateKey: key.privateKey,
    publicCert: key.certificate,
    idAttribute: 'ID',
    signatureAlgorithm: SAML.rsaSha256,
    canonicalizationAlgorithm: SAML.exclusive,
  })
  signer.addReference({ xpath: '/*', transforms: [SAML.enveloped, SAML.exclusive], digestAlgorithm: SAML.sha256 })
  signer.computeSignature(xml, { prefix: 'ds', location: { reference: '/*', action: 'prepend' } })
  return signer.getSignedXml()
}
