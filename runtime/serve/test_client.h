// A client for tests that knows no more of HTTP than it must: blocking sockets,
// so that a test decides when to send, to read and to go.
#ifndef GLM_RUNTIME_SERVE_TEST_CLIENT_H_
#define GLM_RUNTIME_SERVE_TEST_CLIENT_H_

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

namespace glm::serve {

struct TestResponse {
  int status = 0;  // 0: the connection ended before a whole answer
  std::string head;
  std::string body;       // chunks joined
  bool complete = false;  // the body ended as it should
};

class TestClient {
 public:
  explicit TestClient(uint16_t port, int receive_buffer = 0) {
    socket_ = socket(AF_INET, SOCK_STREAM, 0);
    if (receive_buffer > 0) {
      setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer,
                 sizeof(receive_buffer));
    }
    const timeval limit{.tv_sec = 20, .tv_usec = 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = connect(socket_, reinterpret_cast<sockaddr*>(&address),
                         sizeof(address)) == 0;
  }
  ~TestClient() { Close(); }
  TestClient(const TestClient&) = delete;
  TestClient& operator=(const TestClient&) = delete;

  bool connected() const { return connected_; }

  void Close() {
    if (socket_ >= 0) close(socket_);
    socket_ = -1;
  }

  void Send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent =
          send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
  }

  void SendRequest(std::string_view method, std::string_view path,
                   std::string_view body = "", std::string_view headers = "") {
    std::string request = std::string(method) + " " + std::string(path) +
                          " HTTP/1.1\r\nHost: test\r\n" + std::string(headers);
    if (!body.empty()) {
      request += "Content-Length: " + std::to_string(body.size()) + "\r\n";
      if (headers.find("Content-Type") == std::string_view::npos) {
        request += "Content-Type: application/json\r\n";
      }
    }
    if (body.empty() && method == "POST" &&
        headers.find("Transfer-Encoding") == std::string_view::npos) {
      request += "Content-Length: 0\r\n";
    }
    Send(request + "\r\n" + std::string(body));
  }

  // False at the end of the connection.
  bool Receive() {
    char bytes[16 << 10];
    const ssize_t got = recv(socket_, bytes, sizeof(bytes), 0);
    if (got <= 0) return false;
    received_.append(bytes, static_cast<size_t>(got));
    return true;
  }

  // Reads until `text` has come; false when the connection ends before.
  bool ReceiveUntil(std::string_view text) {
    while (received_.find(text) == std::string::npos) {
      if (!Receive()) return false;
    }
    return true;
  }

  TestResponse ReadResponse(bool has_body = true) {
    TestResponse response;
    if (!ReceiveUntil("\r\n\r\n")) return response;
    const size_t end = received_.find("\r\n\r\n") + 4;
    response.head = received_.substr(0, end);
    received_.erase(0, end);
    response.status = std::atoi(response.head.c_str() + 9);
    if (!has_body || response.status == 204) {
      response.complete = true;
    } else if (const size_t at = response.head.find("Content-Length: ");
               at != std::string::npos) {
      const size_t size =
          std::strtoull(response.head.c_str() + at + 16, nullptr, 10);
      while (received_.size() < size && Receive()) {
      }
      response.complete = received_.size() >= size;
      response.body = received_.substr(0, size);
      received_.erase(0, size);
    } else if (response.head.find("chunked") != std::string::npos) {
      ReadChunks(response);
    } else {
      while (Receive()) {
      }
      response.complete = true;
      response.body = std::exchange(received_, {});
    }
    return response;
  }

  const std::string& received() const { return received_; }
  int socket_number() const { return socket_; }

 private:
  void ReadChunks(TestResponse& response) {
    for (;;) {
      if (!ReceiveUntil("\r\n")) return;
      const size_t line = received_.find("\r\n");
      const size_t size = std::strtoull(received_.c_str(), nullptr, 16);
      while (received_.size() < line + 2 + size + 2) {
        if (!Receive()) {
          response.body += received_.substr(line + 2);
          return;
        }
      }
      response.body += received_.substr(line + 2, size);
      received_.erase(0, line + 2 + size + 2);
      if (size == 0) {
        response.complete = true;
        return;
      }
    }
  }

  int socket_ = -1;
  bool connected_ = false;
  std::string received_;
};

inline TestResponse Fetch(uint16_t port, std::string_view method,
                          std::string_view path, std::string_view body = "",
                          std::string_view headers = "") {
  TestClient client(port);
  client.SendRequest(method, path, body, headers);
  return client.ReadResponse(method != "HEAD");
}

}  // namespace glm::serve

#endif  // GLM_RUNTIME_SERVE_TEST_CLIENT_H_
