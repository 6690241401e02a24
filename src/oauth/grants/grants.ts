import { DEVICE_CODE, JWT_BEARER, SAML2_BEARER, TOKEN_EXCHANGE } from '../../model/clients/grant-types.ts'
import type { TokenGrantType } from '../../model/clients/grant-types.ts'
import { authorizationCode } from './authorization-code.ts'
import { clientCredentials } from './client-credentials.ts'
import { deviceCode } from './device-code.ts'
import type { Grant } from './grant.ts'
import { jwtBearer } from './jwt-bearer.ts'
import { password } from './password.ts'
import { refreshToken } from './refresh-token.ts'
import { saml2Bearer } from './saml2-bearer.ts'
import { tokenExchange } from './token-exchange.ts'
import { userToken } from './user-token.ts'

/**
 * A new grant is a row in model/clients/grant-types.ts and a file in this folder; the compiler then requires its entries here and in
 * explain/planned-grants.ts. The client API, discovery and the OpenAPI document follow the row.
 */
const BY_TYPE: Readonly<Record<TokenGrantType, Grant>> = {
  authorization_code: authorizationCode,
  client_credentials: clientCredentials,
  password,
  refresh_token: refreshToken,
  user_token: userToken,
  [SAML2_BEARER]: saml2Bearer,
  [JWT_BEARER]: jwtBearer,
  [DEVICE_CODE]: deviceCode,
  [TOKEN_EXCHANGE]: tokenExchange,
}

/** Every grant of the token endpoint, in the order of discovery. */
export const GRANTS: readonly Grant[] = Object.values(BY_TYPE)
