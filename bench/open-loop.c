/*
 * Load over HTTP/1.1 from one thread. With a rate, requests leave at their own random times (Poisson), whether or not earlier ones were
 * answered; a request that finds no free connection is dropped and counted. With rate 0, each connection sends as soon as it is answered.
 *
 *   cc -O2 -o open-loop open-loop.c -lm
 *   ./open-loop PORT RATE SECONDS CONNECTIONS SOURCES REQUESTS [TRACE]
 *
 * SOURCES: how many addresses 127.1.0.2, 127.1.0.3, … the connections come from. REQUESTS: a file of records, each the length of a request
 * in 32 bits, least significant byte first, and its bytes; they are sent in turn from a random one on. TRACE: a file that gets a line
 * `END STATUS MILLISECONDS` for each answer, END in milliseconds of the monotonic clock. Prints `started` when all connections are open,
 * `ended` after SECONDS, and a line of JSON. Answers that come after the end are counted as late, and not otherwise.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { CLOSED, CONNECTING, IDLE, BUSY };
enum { BUFFER_BYTES = 65536, STATUSES = 600, EVENTS = 512, ARRIVALS_MAX = 2000, CONNECT_BURST = 100, GRACE_SECONDS = 3 };

typedef struct {
  int fd, state, status, closes, request, is_queued;
  double sent_at;
  size_t sent, received, expected; /* expected: 0 until the head is whole */
  char *buffer;
} Connection;

typedef struct {
  int status;
  float ms;
} Sample;

static int port, sources, count, epoll;
static double rate, ends_at;
static Connection *connections;
static int *idle, idle_count;
static char **requests;
static uint32_t *lengths;
static int request_count, next_request;
static Sample *samples;
static long sample_count, sample_room, offered, dropped, late, connect_errors, read_errors;
static FILE *trace;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec / 1e9;
}

static void *checked(void *memory) {
  if (memory == NULL) exit(3);
  return memory;
}

static void record(Connection *c) {
  double at = now();
  if (at > ends_at) {
    late++;
    return;
  }
  if (sample_count == sample_room) {
    sample_room = sample_room == 0 ? 1 << 20 : sample_room * 2;
    samples = checked(realloc(samples, sample_room * sizeof(Sample)));
  }
  Sample *sample = &samples[sample_count++];
  sample->status = c->status > 0 && c->status < STATUSES ? c->status : 0;
  sample->ms = (at - c->sent_at) * 1e3;
  if (trace != NULL) fprintf(trace, "%.1f %d %.2f\n", at * 1e3, sample->status, sample->ms);
}

static void connect_to(int i) {
  Connection *c = &connections[i];
  c->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  int one = 1;
  setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  /* The port is chosen when the connection is made, so that each source has all ports. */
  setsockopt(c->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof one);
  struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f010002 + i % sources)};
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(0x7f000001)};
  c->state = CONNECTING;
  if (bind(c->fd, (struct sockaddr *)&from, sizeof from) < 0 ||
      (connect(c->fd, (struct sockaddr *)&to, sizeof to) < 0 && errno != EINPROGRESS)) {
    close(c->fd);
    c->state = CLOSED;
    connect_errors++;
    return;
  }
  struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.u32 = i};
  epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd, &event);
}

/* The connection ended; a request that was under way was not answered. */
static void lost(int i) {
  Connection *c = &connections[i];
  int was = c->state;
  close(c->fd);
  c->state = CLOSED;
  if (was == BUSY) read_errors++;
  if (was == CONNECTING) connect_errors++;
  if (now() < ends_at) connect_to(i);
}

static void send_rest(int i) {
  Connection *c = &connections[i];
  while (c->sent < lengths[c->request]) {
    ssize_t written = write(c->fd, requests[c->request] + c->sent, lengths[c->request] - c->sent);
    if (written < 0) {
      if (errno != EAGAIN) lost(i);
      return;
    }
    c->sent += written;
  }
}

static void send_request(int i, double due) {
  Connection *c = &connections[i];
  c->state = BUSY;
  c->sent_at = due;
  c->request = next_request;
  next_request = (next_request + 1) % request_count;
  c->sent = c->received = c->expected = 0;
  c->closes = c->status = 0;
  send_rest(i);
}

static void become_idle(int i) {
  connections[i].state = IDLE;
  double at = now();
  if (rate > 0) {
    /* It may still be in the queue from before its connection was lost. */
    if (!connections[i].is_queued) idle[idle_count++] = i;
    connections[i].is_queued = 1;
  } else if (at < ends_at) {
    offered++;
    send_request(i, at);
  }
}

/* Every server here sends Content-Length. */
static void read_head(Connection *c) {
  c->buffer[c->received] = 0;
  char *end = strstr(c->buffer, "\r\n\r\n");
  if (end == NULL) return;
  char *length = strcasestr(c->buffer, "\r\ncontent-length:");
  char *close_line = strcasestr(c->buffer, "\r\nconnection: close");
  c->status = atoi(c->buffer + 9);
  c->closes = close_line != NULL && close_line < end;
  c->expected = end - c->buffer + 4 + (length != NULL && length < end ? strtoul(length + 17, NULL, 10) : 0);
}

/* Returns 0 when nothing more can be read for now. */
static int read_some(int i) {
  Connection *c = &connections[i];
  /* Of a body that does not fit, the end is read over and over into the second half. */
  size_t at = c->received < BUFFER_BYTES / 2 ? c->received : BUFFER_BYTES / 2;
  ssize_t got = read(c->fd, c->buffer + at, BUFFER_BYTES - 1 - at);
  if (got < 0 && errno == EAGAIN) return 0;
  if (got <= 0) {
    lost(i);
    return 0;
  }
  if (c->state != BUSY) return 1;
  c->received += got;
  if (c->expected == 0) read_head(c);
  if (c->expected == 0 || c->received < c->expected) return 1;
  record(c);
  if (c->closes) {
    c->state = IDLE;
    lost(i);
    return 0;
  }
  become_idle(i);
  return connections[i].state != CLOSED;
}

static void read_requests(const char *file) {
  FILE *f = fopen(file, "rb");
  if (f == NULL) exit(2);
  uint32_t length;
  int room = 0;
  while (fread(&length, sizeof length, 1, f) == 1) {
    if (request_count == room) {
      room = room == 0 ? 1024 : room * 2;
      requests = checked(realloc(requests, room * sizeof *requests));
      lengths = checked(realloc(lengths, room * sizeof *lengths));
    }
    requests[request_count] = checked(malloc(length));
    lengths[request_count] = length;
    if (fread(requests[request_count++], 1, length, f) != length) exit(2);
  }
  fclose(f);
  if (request_count == 0) exit(2);
}

static void arrive(double at, double *due) {
  for (int arrivals = 0; *due <= at && *due < ends_at && arrivals < ARRIVALS_MAX; arrivals++) {
    offered++;
    int i = -1;
    while (idle_count > 0 && (i < 0 || connections[i].state != IDLE)) {
      i = idle[--idle_count];
      connections[i].is_queued = 0;
    }
    if (i >= 0 && connections[i].state == IDLE)
      send_request(i, *due);
    else
      dropped++;
    *due -= log((rand() + 1.0) / (RAND_MAX + 2.0)) / rate;
  }
}

static void handle(struct epoll_event *event) {
  int i = event->data.u32;
  Connection *c = &connections[i];
  if (c->state == CLOSED) return;
  if (c->state == CONNECTING) {
    if (event->events & (EPOLLERR | EPOLLHUP)) {
      lost(i);
      return;
    }
    if (event->events & EPOLLOUT) become_idle(i);
  }
  if (c->state == BUSY && c->sent < lengths[c->request]) send_rest(i);
  if (event->events & (EPOLLIN | EPOLLHUP | EPOLLERR))
    while (read_some(i)) continue;
}

static int busy(void) {
  int all = 0;
  for (int i = 0; i < count; i++) all += connections[i].state == BUSY;
  return all;
}

static int by_ms(const void *a, const void *b) {
  float x = ((const Sample *)a)->ms, y = ((const Sample *)b)->ms;
  return (x > y) - (x < y);
}

static void report(double seconds) {
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  double cpu = used.ru_utime.tv_sec + used.ru_stime.tv_sec + (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
  printf("{\"offered\":%ld,\"dropped\":%ld,\"late\":%ld,\"unanswered\":%d,\"connectErrors\":%ld,\"readErrors\":%ld,", offered, dropped, late,
         busy(), connect_errors, read_errors);
  printf("\"seconds\":%.3f,\"cpuSeconds\":%.3f,\"statuses\":{", seconds, cpu);
  qsort(samples, sample_count, sizeof(Sample), by_ms);
  float *ms = checked(malloc((sample_count + 1) * sizeof(float)));
  const char *comma = "";
  for (int status = 0; status < STATUSES; status++) {
    long n = 0;
    for (long i = 0; i < sample_count; i++)
      if (samples[i].status == status) ms[n++] = samples[i].ms;
    if (n == 0) continue;
    printf("%s\"%d\":{\"count\":%ld,\"p50Ms\":%.2f,\"p99Ms\":%.2f,\"maxMs\":%.2f}", comma, status, n, ms[n / 2], ms[n * 99 / 100],
           ms[n - 1]);
    comma = ",";
  }
  printf("}}\n");
}

int main(int argc, char **argv) {
  if (argc < 7) return 2;
  port = atoi(argv[1]);
  rate = atof(argv[2]);
  double seconds = atof(argv[3]);
  count = atoi(argv[4]);
  sources = atoi(argv[5]);
  read_requests(argv[6]);
  if (argc > 7) trace = fopen(argv[7], "w");
  srand(time(NULL) ^ getpid());
  next_request = rand() % request_count;
  connections = checked(calloc(count, sizeof *connections));
  idle = checked(malloc(count * sizeof *idle));
  epoll = epoll_create1(0);
  /* All connections are open before the first request; in a closed loop they send when they are. */
  double opened_at = now();
  ends_at = opened_at + 1e9;
  double wanted_rate = rate;
  rate = 1;
  struct epoll_event events[EVENTS];
  for (int i = 0; i < count; i++) {
    connections[i].buffer = checked(malloc(BUFFER_BYTES));
    connect_to(i);
    if (i % CONNECT_BURST == CONNECT_BURST - 1 || i == count - 1) {
      int n = epoll_wait(epoll, events, EVENTS, 3);
      for (int k = 0; k < n; k++) handle(&events[k]);
    }
  }
  while (idle_count < count && now() < opened_at + 10) {
    int n = epoll_wait(epoll, events, EVENTS, 10);
    for (int k = 0; k < n; k++) handle(&events[k]);
  }
  rate = wanted_rate;
  puts("started");
  fflush(stdout);
  double started_at = now(), due = started_at;
  int has_ended = 0;
  ends_at = started_at + seconds;
  if (rate == 0)
    for (int waiting = idle_count; waiting > 0; waiting--) become_idle(idle[waiting - 1]);
  for (;;) {
    double at = now();
    if (at > ends_at && !has_ended) {
      has_ended = 1;
      puts("ended");
      fflush(stdout);
    }
    if (at > ends_at + GRACE_SECONDS || (at > ends_at && busy() == 0)) break;
    if (rate > 0) arrive(at, &due);
    int n = epoll_wait(epoll, events, EVENTS, at > ends_at ? 5 : rate > 0 && due <= at ? 0 : 1);
    for (int k = 0; k < n; k++) handle(&events[k]);
  }
  if (trace != NULL) fclose(trace);
  report(seconds);
  return 0;
}
