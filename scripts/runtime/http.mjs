/**
 * `node:http` for tests. An import of Node's own module reads all its names, and three of them, such
 * as `WebSocket`, load a second HTTP client. Without it a test file that sends a request is loaded
 * in half of the processor time (`test/support/start/ask.ts`: 50 instead of 110 ms). A server would
 * start in 0.92 of its time, which is too little to give the program this special case.
 */
const http = process.getBuiltinModule('node:http')

export const {
  Agent,
  ClientRequest,
  createServer,
  get,
  globalAgent,
  IncomingMessage,
  maxHeaderSize,
  METHODS,
  OutgoingMessage,
  request,
  Server,
  ServerResponse,
  STATUS_CODES,
  validateHeaderName,
  validateHeaderValue,
} = http
export default http
