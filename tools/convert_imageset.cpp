// The program convert_imageset: puts the images of a list into a database for Data layers.
#include "caffe/util/image_list.hpp"
#include "shared/image_set.hpp"
#include "shared/start.hpp"

namespace {

using caffe::Datum;
using caffe::ListedImage;

constexpr tools::Help kHelp = {
    "convert_imageset", "[FLAGS] FOLDER/ LIST DATABASE",
    R"(Puts images, with their labels, into a new database for Data layers. A line of LIST is the path of
an image, which FOLDER/ is put before, and an integer label: cats/1.jpg 0. Images that cannot be
read are left out, and told of.

  --gray                  read images as gray ones
  --shuffle               shuffle the images and their labels
  --seed=N                with --shuffle: in the order that belongs to N
  --backend=lmdb          the database: lmdb or leveldb
  --resize_width=0        resize to this width, where both are set
  --resize_height=0       and height
  --check_size            end where images have different sizes
  --encoded               store images as files, not as pixels
  --encode_type=png       in this format; without it, in the image's own)"};

}  // namespace

int main(int argc, char** argv) {
  if (const std::optional<int> code = tools::Start(&argc, &argv, kHelp, 3, 3)) return *code;
  const std::string folder = argv[1], list = argv[2];
  tools::CheckFlags();
  const int height = std::max(0, FLAGS_resize_height), width = std::max(0, FLAGS_resize_width);
  const std::vector<ListedImage> images = caffe::ReadImageList(list, "");
  tools::CheckEncodings(images, width > 0);
  tools::WriteDatabase<Datum>(
      images, list, argv[3],
      [&](const ListedImage& image, Datum* datum) {
        return caffe::ReadImageToDatum(folder + image.path, image.label, height, width, !FLAGS_gray,
                                       tools::Encoding(image.path), datum);
      },
      [](const Datum& datum) -> const Datum& { return datum; });
  return 0;
}
