// Every parser of untrusted input. A new one gets a file in `targets/`, a corpus and a line
// here.
import type { Target } from './target.ts'
import { address } from './targets/address.ts'
import { basicHeader } from './targets/basic-header.ts'
import { certificate } from './targets/certificate.ts'
import { clientJwt } from './targets/client-jwt.ts'
import { configFile } from './targets/config-file.ts'
import { cookies } from './targets/cookies.ts'
import { crossOrigin } from './targets/cross-origin.ts'
import { directoryAnswer } from './targets/directory-answer.ts'
import { dpopProof } from './targets/dpop-proof.ts'
import { filter } from './targets/filter.ts'
import { form } from './targets/form.ts'
import { forwarded } from './targets/forwarded.ts'
import { host } from './targets/host.ts'
import { jsonBody } from './targets/json-body.ts'
import { jwt } from './targets/jwt.ts'
import { language } from './targets/language.ts'
import { managementJson } from './targets/management-json.ts'
import { ownPaths } from './targets/own-path.ts'
import { passkeyAnswer } from './targets/passkey-answer.ts'
import { userInput } from './targets/user-input.ts'
import { redirectUri } from './targets/redirect-uri.ts'
import { registration } from './targets/registration.ts'
import { samlMessage } from './targets/saml-message.ts'
import { samlRedirect } from './targets/saml-redirect.ts'
import { scimBulk } from './targets/scim-bulk.ts'
import { scimPatch } from './targets/scim-patch.ts'
import { scimResource } from './targets/scim-resource.ts'
import { xml } from './targets/xml.ts'

/** In the order in which they run. */
export const TARGETS: readonly Target[] = [
  form,
  jsonBody,
  cookies,
  basicHeader,
  language,
  host,
  forwarded,
  ownPaths,
  redirectUri,
  crossOrigin,
  filter,
  scimPatch,
  scimResource,
  scimBulk,
  jwt,
  clientJwt,
  dpopProof,
  address,
  certificate,
  configFile,
  directoryAnswer,
  userInput,
  passkeyAnswer,
  registration,
  managementJson,
  samlMessage,
  samlRedirect,
  xml,
]
